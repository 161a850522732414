package main

import "syscall/js"

// address returns where the game is: what the page's address says behind ?at=, or the page's own host.
func address() string {
	location := js.Global().Get("location")
	query := js.Global().Get("URLSearchParams").New(location.Get("search"))
	if at := query.Call("get", "at"); at.Type() == js.TypeString {
		return at.String()
	}
	scheme := "replica+ws://"
	if location.Get("protocol").String() == "https:" {
		scheme = "replica+wss://"
	}
	return scheme + location.Get("host").String()
}
