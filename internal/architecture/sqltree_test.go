package architecture

import (
	"encoding/json"
	"fmt"

	"github.com/wasilibs/go-pgquery/parser" // the package alone: the module's root compiles PostgreSQL's parser in C
)

// node is a part of a parse tree, as PostgreSQL's own parser names its fields. A
// field that is one of several kinds of node is an object with one key, the kind.
type node = map[string]any

// parseSQL gives a text's statements, each an object of one kind.
func parseSQL(sql string) ([]node, error) {
	text, err := parser.ParseToJSON(sql)
	if err != nil {
		return nil, err
	}
	var tree struct {
		Stmts []struct{ Stmt node }
	}
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		return nil, err
	}
	var all []node
	for _, s := range tree.Stmts {
		all = append(all, s.Stmt)
	}
	return all, nil
}

// unwrap gives a node's kind and its fields.
func unwrap(v any) (kind string, fields node) {
	wrapped, _ := v.(node)
	if len(wrapped) != 1 {
		return "", nil
	}
	for kind, inner := range wrapped {
		fields, _ := inner.(node)
		return kind, fields
	}
	return "", nil
}

// visit calls on each node below v, with its kind. Where enter says no, it goes no
// deeper.
func visit(v any, enter func(kind string, fields node) bool) {
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			visit(element, enter)
		}
	case node:
		for key, inner := range v {
			fields, ok := inner.(node)
			if ok && !enter(key, fields) {
				continue
			}
			visit(inner, enter)
		}
	}
}

// list is a field that holds nodes.
func list(v any) []any {
	all, _ := v.([]any)
	return all
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// names gives a list of strings as they stand in the tree; a star is "*".
func names(v any) (all []string) {
	for _, element := range list(v) {
		switch kind, fields := unwrap(element); kind {
		case "String":
			all = append(all, text(fields["sval"]))
		case "A_Star":
			all = append(all, "*")
		}
	}
	return all
}

// functionName is a call's name without its schema.
func functionName(call node) string {
	if all := names(call["funcname"]); len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// aliasOf is what a relation, a subquery or a function in FROM is called.
func aliasOf(fields node) string {
	if alias, ok := fields["alias"].(node); ok {
		return text(alias["aliasname"])
	}
	return text(fields["relname"])
}

// oneStatement parses a const, which is one statement.
func oneStatement(sql string) (kind string, fields node, err error) {
	all, err := parseSQL(sql)
	if err != nil {
		return "", nil, err
	}
	if len(all) != 1 {
		return "", nil, fmt.Errorf("%d statements, want one", len(all))
	}
	kind, fields = unwrap(all[0])
	return kind, fields, nil
}
