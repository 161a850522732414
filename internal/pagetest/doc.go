// Package pagetest reads the tables of a page of the documentation, so that tests can
// check the page against the code.
package pagetest
