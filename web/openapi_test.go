package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// document is what a test reads of /v1/openapi.json.
type document struct {
	OpenAPI  string `json:"openapi"`
	Security []map[string][]string
	Paths    map[string]map[string]json.RawMessage
	schemas  map[string]any
}

type operation struct {
	Summary     string
	RequestBody *struct {
		Required bool
		Content  map[string]struct{ Schema any }
	}
	Responses map[string]struct {
		Description string
		Content     map[string]struct{ Schema any }
	}
}

func readDocument(t *testing.T, h http.Handler) (d document) {
	t.Helper()
	w := asked{method: "GET", path: "/v1/openapi.json"}.send(h)
	var parts struct {
		Components struct{ Schemas map[string]any }
	}
	if err := errors.Join(json.Unmarshal(w.Body.Bytes(), &d), json.Unmarshal(w.Body.Bytes(), &parts)); err != nil || w.Code != 200 {
		t.Fatalf("status %d, %v", w.Code, err)
	}
	d.schemas = parts.Components.Schemas
	return d
}

func (d *document) operation(t *testing.T, c *call) (op operation) {
	t.Helper()
	if err := json.Unmarshal(d.Paths[c.path][strings.ToLower(c.method)], &op); err != nil {
		t.Fatalf("%s %s: %v", c.method, c.path, err)
	}
	return op
}

// holds returns what of a value is not as a schema says: an empty text if all is.
func (d *document) holds(schema, v any) string {
	s := schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		return d.holds(d.schemas[strings.TrimPrefix(ref, "#/components/schemas/")], v)
	}
	types, _ := s["type"].([]any)
	if one, ok := s["type"].(string); ok {
		types = []any{one}
	}
	kind := ""
	switch x := v.(type) {
	case string:
		kind = "string"
	case bool:
		kind = "boolean"
	case float64:
		if kind = "number"; x == float64(int64(x)) && !slices.Contains(types, any("number")) {
			kind = "integer"
		}
	case []any:
		kind = "array"
		for _, e := range x {
			if why := d.holds(s["items"], e); why != "" {
				return why
			}
		}
	case map[string]any:
		kind = "object"
		properties, _ := s["properties"].(map[string]any)
		closed := s["additionalProperties"] == false
		required, _ := s["required"].([]any)
		for _, name := range required {
			if _, ok := x[name.(string)]; !ok {
				return fmt.Sprintf("%v is missing", name)
			}
		}
		for name, e := range x {
			if properties[name] == nil {
				if closed {
					return name + " is not in the schema"
				}
				continue
			}
			if why := d.holds(properties[name], e); why != "" {
				return name + ": " + why
			}
		}
	}
	if !slices.Contains(types, any(kind)) {
		return fmt.Sprintf("%v is no %v", v, types)
	}
	return ""
}

// judge compares an answer with the document.
func (d *document) judge(t *testing.T, c *call, w *httptest.ResponseRecorder) {
	t.Helper()
	op := d.operation(t, c)
	answer, ok := op.Responses[strconv.Itoa(w.Code)]
	if !ok {
		t.Errorf("%s %s: the document has no status %d", c.method, c.path, w.Code)
		return
	}
	content, ok := answer.Content["application/json"]
	if !ok {
		if w.Body.Len() > 0 {
			t.Errorf("%s %s: status %d with a body", c.method, c.path, w.Code)
		}
		return
	}
	var v any
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%s %s: %v, %v", c.method, c.path, err, w.Header())
	} else if why := d.holds(content.Schema, v); why != "" {
		t.Errorf("%s %s: status %d: %s: %s", c.method, c.path, w.Code, why, w.Body)
	}
}

// The document has the calls of the mux and no others. Each call gives each status that the document has for it, and the answers have
// the fields that it describes.
func TestTheDocumentIsRight(t *testing.T) {
	f := newFake()
	h := Handler(operated(f))
	d := readDocument(t, h)
	if d.OpenAPI != "3.1.0" || len(d.Security) != 1 || d.Security[0]["token"] == nil {
		t.Errorf("%+v", d)
	}
	there := 0
	for _, methods := range d.Paths {
		for name := range methods {
			if name != "parameters" {
				there++
			}
		}
	}
	if there != len(calls) {
		t.Errorf("the document has %d calls, and the table %d", there, len(calls))
	}
	for i := range calls {
		c := &calls[i]
		op := d.operation(t, c)
		if op.Summary == "" || !strings.HasSuffix(op.Summary, ".") {
			t.Errorf("%s %s: %q", c.method, c.path, op.Summary)
		}
		given := map[string]bool{}
		give := func(q asked) *httptest.ResponseRecorder {
			w := q.send(h)
			given[strconv.Itoa(w.Code)] = true
			d.judge(t, c, w)
			return w
		}
		q := c.right()
		for _, bad := range []asked{{token: "none"}, {host: "evil.example"}, {origin: "http://evil.example"}} {
			bad.method, bad.path, bad.body = q.method, q.path, q.body
			give(bad)
		}
		if c.stream != nil {
			continue // TestEvents and TestSlowClientsOfEvents
		}
		if w := give(q); w.Code != c.status {
			t.Errorf("%s %s: status %d: %s", c.method, c.path, w.Code, w.Body)
		}
		if slices.Contains([]string{"/v1/openapi.json", "/v1/log", "/v1/history", "/v1/counters"}, c.path) { // which ask the server for nothing that can fail
			given["500"], given["503"] = true, true
		}
		f.nobody = true
		give(q)
		f.nobody = false
		for status := range c.refusals {
			f.err = &Refusal{status, errors.New("so it is")}
			if w := give(q); w.Code != status {
				t.Errorf("%s %s: status %d, want %d", c.method, c.path, w.Code, status)
			}
		}
		f.err = errors.New("it rains")
		give(q)
		f.err = &Refusal{503, errors.New("the server is ending")}
		give(q)
		f.err = nil
		if op.RequestBody != nil {
			for _, body := range []string{"{", "{}", strings.Repeat(" ", maxBody+1)} {
				give(asked{method: q.method, path: q.path, body: body})
			}
		}
		for status := range op.Responses {
			if !given[status] {
				t.Errorf("%s %s: the document has the status %s, which no test gets", c.method, c.path, status)
			}
		}
	}
}

// The fields that a call reads are those of the document, with their types. A field that the document does not have is refused.
func TestTheDocumentHasTheFields(t *testing.T) {
	h := Handler(operated(newFake()))
	d := readDocument(t, h)
	n := 0
	for i := range calls {
		c := &calls[i]
		op := d.operation(t, c)
		if (op.RequestBody != nil) != (c.body != reflect.TypeFor[none]()) || (op.RequestBody != nil) != (c.example != nil) {
			t.Errorf("%s %s: body %v, example %v", c.method, c.path, op.RequestBody, c.example)
			continue
		}
		if op.RequestBody == nil {
			continue
		}
		var v map[string]any
		if err := json.Unmarshal(mustJSON(c.example), &v); err != nil {
			t.Fatal(err)
		}
		schema := op.RequestBody.Content["application/json"].Schema
		if why := d.holds(schema, v); why != "" {
			t.Errorf("%s %s: the example: %s", c.method, c.path, why)
		}
		ref := schema.(map[string]any)["$ref"].(string)
		properties := d.schemas[strings.TrimPrefix(ref, "#/components/schemas/")].(map[string]any)["properties"].(map[string]any)
		for name, p := range properties {
			types := fmt.Sprint(p.(map[string]any)["type"])
			if p.(map[string]any)["description"] == "" {
				t.Errorf("%s %s: %s is not described", c.method, c.path, name)
			}
			// A value of each type: those that the document has for the field are read, and the others are not.
			for kind, value := range map[string]any{"string": "7", "integer": 7, "boolean": true, "array": []any{}, "object": map[string]any{}} {
				body := map[string]any{}
				for k, v := range v {
					body[k] = v
				}
				if body[name] = value; name == "account" {
					delete(body, "address")
				}
				if strings.Contains(types, kind) && (name == "until" || name == "level" || name == "address") {
					continue // a text of a form of its own
				}
				w := asked{method: c.method, path: c.right().path, body: string(mustJSON(body))}.send(h)
				if ok := strings.Contains(types, kind); ok != (w.Code < 300) {
					t.Errorf("%s %s: %s as %s: status %d %s; the document says %s", c.method, c.path, name, kind, w.Code, w.Body, types)
				}
				n++
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d values were tried", n)
	}
}
