// Package e2e tests Crest from the outside: the page in a real browser, against canned lists in every state that lists
// can be in, and the whole binary over HTTP, with bad input and kill -9. It is a module of its own so that the browser's
// driver stays out of the product's dependencies. It needs chromium, in PATH or named by CHROMIUM.
//
//	go test ./...                              # one to two minutes
//	SHOTS=/tmp/shots go test -run Pictures .   # pictures of every state, for people to look at
package e2e
