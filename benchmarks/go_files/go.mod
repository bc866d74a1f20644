module go_files

go 1.19
