package scribe

import (
	"encoding"
	"fmt"
	"log/slog"
	"reflect"
	"strings"

	"parley/internal/plain"
)

// plainAttr returns a copy of an attribute whose text is plain. It must not change any more, as another goroutine
// writes it later.
func plainAttr(a slog.Attr) slog.Attr {
	a.Value = plainValue(a.Key, a.Value.Resolve())
	return a
}

func plainValue(key string, v slog.Value) slog.Value {
	switch v.Kind() {
	case slog.KindString:
		return slog.StringValue(plainText(key, v.String()))
	case slog.KindGroup:
		var list []slog.Attr
		for _, a := range v.Group() {
			list = append(list, plainAttr(a))
		}
		return slog.GroupValue(list...)
	case slog.KindAny:
		return plainAny(key, v.Any())
	}
	return v
}

// plainAny keeps numbers, and turns all other values into text. If a value's own method panics, as with a nil
// pointer, its text is replaced, and the server goes on.
func plainAny(key string, x any) (v slog.Value) {
	defer func() {
		if recover() != nil {
			v = slog.StringValue("(unprintable)")
		}
	}()
	switch x := x.(type) {
	case nil:
		return slog.AnyValue(nil)
	case error:
		return slog.StringValue(plainText(key, x.Error()))
	case encoding.TextMarshaler:
		if text, err := x.MarshalText(); err == nil {
			return slog.StringValue(plainText(key, string(text)))
		}
	case fmt.Stringer:
	default:
		switch v := reflect.ValueOf(x); {
		case v.CanInt():
			return slog.Int64Value(v.Int())
		case v.CanUint():
			return slog.Uint64Value(v.Uint())
		}
	}
	return slog.StringValue(plainText(key, fmt.Sprintf("%+v", x)))
}

// plainText makes a text plain and cuts it. A stack trace is our own text, and keeps its line breaks.
func plainText(key, s string) string {
	limit := maxValueBytes
	if key == "stack" {
		limit = maxStackBytes
	}
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	if key == "stack" {
		return s
	}
	return plain.Text(s)
}
