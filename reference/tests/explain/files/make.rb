require 'fileutils'
FileUtils.mkdir_p(ARGV[0])
