// Package load generates events and measures how a server takes them.
//
// The generator has to cost far less than the server that it drives, as both usually share a machine: requests are
// written once, as templates, and only ids, times and items are written into them before each is sent.
package load
