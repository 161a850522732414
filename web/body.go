package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
)

// read reads the body of a request into a new value of the call's type, and returns a pointer to it.
func (c *call) read(w http.ResponseWriter, r *http.Request) (any, error) {
	v := reflect.New(c.body)
	if c.body == reflect.TypeFor[none]() {
		return v.Interface(), nil
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if long := (*http.MaxBytesError)(nil); errors.As(err, &long) {
		return nil, refuse(http.StatusRequestEntityTooLarge, "the body is longer than %d bytes", maxBody)
	} else if err != nil {
		return nil, refuse(http.StatusBadRequest, "the body did not come whole")
	}
	if len(bytes.TrimSpace(text)) == 0 {
		if c.mayBeEmpty {
			return v.Interface(), nil
		}
		return nil, refuse(http.StatusBadRequest, "the body is empty: send a JSON object with %s", fieldNames(c.body))
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v.Interface()); err != nil {
		return nil, refuse(http.StatusBadRequest, "%s", c.wrong(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, refuse(http.StatusBadRequest, "there is more after the JSON object of the body")
	}
	for _, f := range fieldsOf(c.body) {
		if f.required && v.Elem().FieldByIndex(f.index).IsZero() {
			return nil, refuse(http.StatusBadRequest, "%q is missing", f.name)
		}
	}
	return v.Interface(), nil
}

// wrong says what is wrong with a body.
func (c *call) wrong(err error) string {
	if of := (*json.UnmarshalTypeError)(nil); errors.As(err, &of) {
		if of.Field == "" {
			return "the body is no JSON object: send one with " + fieldNames(c.body)
		}
		return `"` + of.Field + `" takes ` + typeName(of.Type) + ", not this " + of.Value
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if strings.HasPrefix(text, "unknown field ") {
		return text + ": the fields are " + fieldNames(c.body)
	}
	return "the body is not as it should be: " + text
}

// typeName is the type of a field in words.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "an object"
	}
	return "a whole number in its range"
}

// field is a field of a body or of an answer.
type field struct {
	name, doc string
	index     []int
	typ       reflect.Type
	required  bool // in a request
	optional  bool // left out of an answer if it is zero
}

// fieldsOf returns the fields of a struct as JSON has them.
func fieldsOf(t reflect.Type) (list []field) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || f.Anonymous {
			continue
		}
		list = append(list, field{name, f.Tag.Get("doc"), f.Index, f.Type, f.Tag.Get("api") == "required", strings.Contains(options, "omitempty")})
	}
	return list
}

func fieldNames(t reflect.Type) string {
	var names []string
	for _, f := range fieldsOf(t) {
		names = append(names, `"`+f.name+`"`)
	}
	return strings.Join(names, ", ")
}
