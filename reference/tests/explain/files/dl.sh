curl -s -o page http://192.0.2.1/ || exit 8
