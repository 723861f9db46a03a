puts File.read(ARGV[0])
