// Package web holds the page: the trending shelf that shows the lists. It is plain HTML, CSS and JavaScript, served as
// it is written, without a build step and without a request to any other host.
package web

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed page
var files embed.FS

// ContentSecurityPolicy is the policy that the page is written for: nothing but its own files, and thumbnails from
// anywhere.
const ContentSecurityPolicy = "default-src 'self'; img-src * data:; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; object-src 'none'"

// FS returns the page's files; index.html is at its root.
func FS() fs.FS {
	sub, err := fs.Sub(files, "page")
	if err != nil { // only for a malformed path, and this one is a constant
		panic(fmt.Sprintf("web: %v", err))
	}
	return sub
}
