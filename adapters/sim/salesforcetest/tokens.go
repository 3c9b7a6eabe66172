package salesforcetest

import (
	"fmt"
	"strings"
)

type tokenKind int

const (
	tokenName  tokenKind = iota // a name, path or keyword
	tokenText                   // in quotes; without them
	tokenPlain                  // a number, date or time
	tokenSign
)

// token is one word or sign of a query.
type token struct {
	kind tokenKind
	text string
	at   int // byte at which it begins
}

// tokenize splits a query.
func tokenize(text string) ([]token, error) {
	var tokens []token
	for at := 0; at < len(text); {
		c := text[at]
		switch {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			at++
			continue
		case c == '\'':
			content, end, err := quoted(text, at)
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, token{tokenText, content, at})
			at = end
			continue
		}
		t := token{tokenSign, sign(text[at:]), at}
		switch word := word(text[at:]); {
		case word != "" && (c >= '0' && c <= '9' || c == '-' || c == '+'):
			t.kind, t.text = tokenPlain, word
		case strings.EqualFold(word, "COUNT") && strings.HasPrefix(text[at+len(word):], "("):
			t.kind, t.text = tokenName, text[at:at+len(word)+1]
		case word != "":
			t.kind, t.text = tokenName, word
		case t.text == "":
			return nil, fmt.Errorf("line 1:%d no viable alternative at character '%.4q'", at, c)
		}
		tokens = append(tokens, t)
		at += len(t.text)
	}
	return tokens, nil
}

// word returns the name, number or time at the beginning of a text, or "".
func word(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_.:+-", r)
	})
	if end < 0 {
		return text
	}
	return text[:end]
}

// sign returns the sign at the beginning of a text, or "".
func sign(text string) string {
	for _, s := range []string{"<=", ">=", "!=", "<>", "=", "<", ">", "(", ")", ","} {
		if strings.HasPrefix(text, s) {
			return s
		}
	}
	return ""
}

// escapes are what may follow a backslash in a text.
var escapes = map[byte]string{'n': "\n", 'N': "\n", 'r': "\r", 'R': "\r", 't': "\t", 'T': "\t", 'b': "\b", 'B': "\b", 'f': "\f", 'F': "\f",
	'"': `"`, '\'': "'", '\\': `\`, '_': `\_`, '%': `\%`}

// quoted returns the text in quotes that begins at a byte, and where it ends. What LIKE escapes stays escaped.
func quoted(text string, at int) (content string, end int, err error) {
	var b strings.Builder
	for i := at + 1; i < len(text); i++ {
		switch c := text[i]; c {
		case '\'':
			return b.String(), i + 1, nil
		case '\\':
			i++
			if i == len(text) {
				break
			}
			plain, ok := escapes[text[i]]
			if !ok {
				return "", 0, fmt.Errorf("line 1:%d illegal character escape", i)
			}
			b.WriteString(plain)
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, fmt.Errorf("line 1:%d a quote is not closed", at)
}
