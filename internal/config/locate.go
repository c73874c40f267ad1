package config

import (
	"reflect"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// lineOf returns the line of the first field that has the wrong value's type and text, 0 when there is none: the text
// alone may be right elsewhere, as a count or within a name.
func lineOf(data []byte, wrong valueError) int {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return 0
	}
	find := finder{text: wrong.text, paths: map[string]bool{}, index: regexp.MustCompile(`\[\d+\]`)}
	fieldsOf(reflect.TypeFor[Config](), wrong.of, "$", find.paths)
	for _, doc := range file.Docs {
		ast.Walk(&find, doc)
	}
	return find.line
}

// fieldsOf collects the paths of the fields of a type, with every element of a list under one path.
func fieldsOf(in, want reflect.Type, path string, into map[string]bool) {
	for in.Kind() == reflect.Slice {
		in = in.Elem()
	}
	switch {
	case in == want:
		into[path] = true
	case in.Kind() == reflect.Struct:
		for f := range in.Fields() {
			name := f.Tag.Get("yaml")
			if name == "" {
				name = strings.ToLower(f.Name)
			}
			fieldsOf(f.Type, want, path+"."+name, into)
		}
	}
}

// finder looks for a text as the value of one of some fields.
type finder struct {
	text  string
	paths map[string]bool
	index *regexp.Regexp // of a list
	line  int
}

// Visit is called for every node of a file.
func (f *finder) Visit(n ast.Node) ast.Visitor {
	pair, ok := n.(*ast.MappingValueNode)
	if !ok || f.line > 0 || pair.Value == nil || pair.Value.GetToken() == nil {
		return f
	}
	path := f.index.ReplaceAllString(pair.Value.GetPath(), "")
	if value := pair.Value.GetToken(); f.paths[path] && value.Value == f.text {
		f.line = value.Position.Line
	}
	return f
}
