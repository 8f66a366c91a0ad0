package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../../.."

var command = regexp.MustCompile(`(?m)^//go:generate go run adnet/internal/jsonscan/gen(.*)$`)

// packages returns the folders whose readers are generated, with the arguments of the command.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	list := map[string][]string{}
	for _, top := range []string{"ingress", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			if found := command.FindSubmatch(text); found != nil {
				list[filepath.Dir(path)] = strings.Fields(string(found[1]))
			}
			return err
		})
		require.NoError(t, err)
	}
	require.NotEmpty(t, list)
	return list
}

func TestGeneratedReadersAreCurrent(t *testing.T) {
	for dir, arguments := range packages(t) {
		want, err := generate(dir, arguments...)
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(dir, output))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "run go generate in %s", strings.TrimPrefix(dir, root+"/"))
	}
}

// generated returns the readers of a package with one file.
func generated(t *testing.T, text string, plain ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte(text), 0o600))
	code, err := generate(dir, plain...)
	return string(code), err
}

func TestMembers(t *testing.T) {
	code, err := generated(t, "package a\n\n"+`import "x/consent"

type reader struct{ inners []inner }

type inner struct{ ID text `+"`rtb:\"id,id,lost\"`"+` }

type outer struct {
	inner
	List objects[inner] `+"`rtb:\"list\"`"+`
	Other object[inner] `+"`rtb:\"other,lost\"`"+`
	GDPR consent.Choice `+"`rtb:\"gdpr,lost\"`"+`
	Skipped text
}
`)
	require.NoError(t, err)
	_, code, _ = strings.Cut(code, "func (o *outer)")
	require.Equal(t, ` member(r *reader, name string) {
	switch name {
	case "id":
		o.ID = r.id()
	case "list":
		o.List = list(r, &r.inners)
	case "other":
		into(r, &o.Other)
	case "gdpr":
		o.GDPR = r.choice()
	default:
		r.skip()
	}
}

func (o *outer) lose() {
	o.ID.lose()
	o.Other.v.lose()
	o.GDPR = consent.Unclear
}
`, code)
}

func TestScan(t *testing.T) {
	code, err := generated(t, "package a\n\n"+`import ("x/jsonscan"; "x/share")

type outer struct {
	List  []inner      `+"`json:\"list\"`"+`
	Share *share.Share `+"`json:\"share\"`"+`
	Other string       `+"`json:\"-\"`"+`
}
`, "outer")
	require.NoError(t, err)
	_, code, _ = strings.Cut(code, "switch name {")
	require.Equal(t, `
		case "list":
			o.List = []inner{}
			for in.Enter('['); in.More(']'); {
				var element inner
				element.Scan(in)
				o.List = append(o.List, element)
			}
		case "share":
			o.Share = new(jsonscan.Parsed(in, in.Number(), share.Parse))
		default:
			in.Decline()
		}
	}
}
`, code)
	_, err = generated(t, "package a\n", "outer")
	require.ErrorContains(t, err, "outer has no tags json")
}

func TestWhatCannotBeGenerated(t *testing.T) {
	for text, want := range map[string]string{
		"type a struct{ X objects[b] `rtb:\"x\"` }":               "reader has no list of b",
		"type a struct{ X consent.Choice `rtb:\"x,lost\"` }":      "no file imports consent",
		"type a struct{ X text `rtb:\"x\"`; Y text `rtb:\"x\"` }": "a reads x twice",
		"type a struct": "expected",
	} {
		_, err := generated(t, "package a\n\n"+text+"\n")
		require.ErrorContains(t, err, want)
	}
	_, err := generate(t.TempDir())
	require.ErrorIs(t, err, fs.ErrNotExist)
}
