int x = EROFS;
