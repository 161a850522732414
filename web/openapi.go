package web

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

type object = map[string]any

// openAPI writes the table of calls as an OpenAPI document, version 3.1.
func openAPI(title string, calls []call) []byte {
	schemas := object{"Error": object{"type": "object", "required": []string{"error"}, "properties": object{"error": object{"type": "string", "description": "what is wrong"}}}}
	paths := object{}
	for i := range calls {
		c := &calls[i]
		if paths[c.path] == nil {
			paths[c.path] = object{}
			if names := c.names(); names != nil {
				paths[c.path].(object)["parameters"] = names
			}
		}
		paths[c.path].(object)[strings.ToLower(c.method)] = c.operation(schemas)
	}
	text, err := json.Marshal(object{
		"openapi":    "3.1.0",
		"info":       object{"title": "parley: the operator's API of " + title, "version": "1"},
		"security":   []object{{"token": []string{}}},
		"paths":      paths,
		"components": object{"schemas": schemas, "securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "the token in the file operator.token of the --data folder"}}},
	})
	if err != nil {
		panic("web: the table of calls cannot be written: " + err.Error())
	}
	return text
}

// names are the parts of a path that stand for a name.
func (c *call) names() (list []object) {
	for part := range strings.SplitSeq(c.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			list = append(list, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	return list
}

// operation is a call in OpenAPI's words.
func (c *call) operation(schemas object) object {
	answers := object{}
	success := object{"description": "done"}
	switch {
	case c.stream != nil:
		success["description"] = c.says
		success["content"] = object{"text/event-stream": object{"schema": object{"type": "string"}}}
		for _, t := range c.events {
			schema(t, schemas, false) // what the events' data are
		}
	case c.answer != reflect.TypeFor[none]():
		success["content"] = object{"application/json": object{"schema": schema(c.answer, schemas, false)}}
	}
	answers[strconv.Itoa(c.status)] = success
	for status, text := range c.also {
		answers[strconv.Itoa(status)] = object{"description": text}
	}
	for _, status := range c.refused() {
		answers[strconv.Itoa(status)] = object{"description": c.refusal(status), "content": object{"application/json": object{"schema": object{"$ref": "#/components/schemas/Error"}}}}
	}
	op := object{"summary": c.what, "responses": answers}
	if c.body != reflect.TypeFor[none]() {
		op["requestBody"] = object{"required": !c.mayBeEmpty, "content": object{"application/json": object{"schema": schema(c.body, schemas, true)}}}
	}
	return op
}

// refused are the statuses with which a call can be refused, in order.
func (c *call) refused() (list []int) {
	for status := http.StatusBadRequest; status < 600; status++ {
		if c.mayAnswer(status) {
			list = append(list, status)
		}
	}
	return list
}

// refusal says what a status means for a call.
func (c *call) refusal(status int) string {
	for _, table := range []map[int]string{c.refusals, everywhere, withBody} {
		if text, ok := table[status]; ok {
			return text
		}
	}
	return ""
}

// schema is a type in the words of JSON Schema. Structs are put among the schemas by their name. Those of requests have no other
// fields than these.
func schema(t reflect.Type, schemas object, request bool) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[Seed]():
		if request {
			return object{"type": []string{"string", "integer"}}
		}
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schema(t.Elem(), schemas, request)
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice:
		return object{"type": "array", "items": schema(t.Elem(), schemas, request)}
	case reflect.Map:
		return object{"type": "object"}
	case reflect.Struct:
		if schemas[t.Name()] == nil {
			schemas[t.Name()] = structSchema(t, schemas, request)
		}
		return object{"$ref": "#/components/schemas/" + t.Name()}
	}
	return object{"type": "integer"}
}

func structSchema(t reflect.Type, schemas object, request bool) object {
	properties, required := object{}, []string{}
	for _, f := range fieldsOf(t) {
		p := schema(f.typ, schemas, request)
		p["description"] = f.doc
		properties[f.name] = p
		if f.required || !request && !f.optional {
			required = append(required, f.name)
		}
	}
	slices.Sort(required)
	s := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}
