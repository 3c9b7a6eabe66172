package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// spelling has the functions by which the clients' templates write names, types and comments.
var spelling = template.FuncMap{
	"pascal": pascal, "snake": snake, "goName": goName,
	"goType": goType, "tsType": typeScriptType, "pyType": pythonType,
	"comment": comment, "jsdoc": jsdoc, "quote": strconv.Quote, "quoted": quoted, "join": strings.Join, "hasWords": hasWords,
	"lower": strings.ToLower,
	"list":  func(words ...string) []string { return words },
	"in": func(in string, options []memberView) (found []memberView) {
		for _, option := range options {
			if option.In == in {
				found = append(found, option)
			}
		}
		return found
	},
	"goArgument": goArgument,
	"goPath": func(path string) string {
		inside := pathWith(path, func(name string) string { return `" + url.PathEscape(` + goArgument(name) + `) + "` })
		return strings.TrimSuffix(`"`+inside+`"`, ` + ""`)
	},
	"tsPath": func(path string) string {
		if !argument.MatchString(path) {
			return strconv.Quote(path)
		}
		return "`" + pathWith(path, func(name string) string { return "${encodeURIComponent(" + name + ")}" }) + "`"
	},
	"pyPath": func(path string) string {
		return pathWith(path, func(name string) string { return "{segment(" + snake(name) + ")}" })
	},
	"arguments": func(path string) []string {
		var names []string
		for _, name := range argument.FindAllStringSubmatch(path, -1) {
			names = append(names, name[1])
		}
		return names
	},
}

var (
	argument  = regexp.MustCompile(`\{(\w+)\}`)
	upperCase = regexp.MustCompile(`[A-Z]`)
)

// pathWith writes a path with its arguments in the spelling of a language.
func pathWith(path string, spell func(name string) string) string {
	return argument.ReplaceAllStringFunc(path, func(name string) string { return spell(strings.Trim(name, "{}")) })
}

// snake makes create_checkout of createCheckout, and idempotency_key of Idempotency-Key.
func snake(name string) string {
	name = strings.ReplaceAll(name, "-", "")
	return upperCase.ReplaceAllStringFunc(strings.ToLower(name[:1])+name[1:], func(letter string) string {
		return "_" + strings.ToLower(letter)
	})
}

// pascal makes DirectDebit of direct_debit, and CreateCheckout of createCheckout.
func pascal(name string) string {
	var text strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
		text.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return text.String()
}

// goName writes a name as Go does, where initials are capitals.
func goName(name string) string {
	words := strings.Split(snake(strings.ReplaceAll(name, ".", "_")), "_")
	for i, word := range words {
		if slices.Contains([]string{"id", "url", "pdf", "dda", "api"}, word) {
			words[i] = strings.ToUpper(word)
		}
	}
	return pascal(strings.Join(words, "_"))
}

// goArgument writes a name of an argument as Go does.
func goArgument(name string) string { return strings.ToLower(name[:1]) + goName(name)[1:] }

func goType(k kindView) string {
	name := map[string]string{"time": "time.Time", "integer": "int", "amount": "Amount", "boolean": "bool"}[k.Name]
	return spell(k, name, "[]", "")
}

func typeScriptType(k kindView) string {
	name := map[string]string{"time": "string", "integer": "number", "amount": "Amount"}[k.Name]
	if k.Words != nil {
		name = quoted(k.Words, " | ")
	}
	return spell(k, name, "", "[]")
}

func pythonType(k kindView) string {
	name := map[string]string{"string": "str", "time": "str", "integer": "int", "amount": "Decimal", "boolean": "bool"}[k.Name]
	if k.Words != nil {
		name = "Literal[" + quoted(k.Words, ", ") + "]"
	}
	return spell(k, name, "List[", "]")
}

// spell writes a type under its name in the language, or else its own, and the marks of a list around it.
func spell(k kindView, name, before, after string) string {
	if name == "" {
		name = k.Name
	}
	if k.List {
		return before + name + after
	}
	return name
}

// quoted writes words in quotation marks.
func quoted(words []string, between string) string {
	var all []string
	for _, word := range words {
		all = append(all, strconv.Quote(word))
	}
	return strings.Join(all, between)
}

func hasWords(k kindView) string {
	if len(k.Words) < 2 {
		return ""
	}
	return " (" + strings.Join(k.Words, ", ") + ")"
}

// commentWidth is the longest line of a comment.
const commentWidth = 120

// comment writes a text on lines that begin with a mark.
func comment(mark, text string) string {
	var lines []string
	line := mark
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > commentWidth && line != mark {
			lines = append(lines, line)
			line = mark
		}
		line += " " + word
	}
	return strings.Join(append(lines, line), "\n")
}

// jsdoc writes a text as a comment for tools of JavaScript.
func jsdoc(indent, text string) string {
	if line := indent + "/** " + text + " */"; len(line) <= commentWidth {
		return line
	}
	return indent + "/**\n" + comment(indent+" *", text) + "\n" + indent + " */"
}
