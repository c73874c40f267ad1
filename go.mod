module crest

go 1.26
