// Package pagetest reads the tables of a page of the documentation, so that tests can hold
// the page against the code: what is written there is what the code does, or a test fails.
package pagetest
