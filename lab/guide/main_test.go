package main

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The guide that the product serves is the one of the documents.
func TestGuideIsCurrent(t *testing.T) {
	want, err := render(os.DirFS("../../docs"))
	require.NoError(t, err)
	served := os.DirFS("../../ingress/api/docs/guide")
	found := map[string]bool{}
	require.NoError(t, fs.WalkDir(served, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		found[name] = true
		content, err := fs.ReadFile(served, name)
		if string(want[name]) != string(content) {
			t.Errorf("%s is not that of docs/: run go generate ./lab/guide", name)
		}
		return err
	}))
	for name := range want {
		require.True(t, found[name], "%s is missing: run go generate ./lab/guide", name)
	}
}

// Every document for readers of an installation is in the guide.
func TestGuideHasTheDocuments(t *testing.T) {
	elsewhere := []string{"development.md", "tour.md"} // for a clone
	require.NoError(t, fs.WalkDir(os.DirFS("../../docs"), ".", func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".md") && address(name) == "" {
			require.Contains(t, elsewhere, name)
		}
		return err
	}))
}

func TestConvert(t *testing.T) {
	source := "# A b\n\nSee [data](data.md#events), [code](../main.go), [*web*](https://a.example/b) and " +
		"`https://ads.example.com/x`.\n\n![picture](images/a.png)\n\n## C_d é\n\n| a |\n|---|\n| b |\n"
	p, body, err := convert("concepts.md", []byte(source))
	require.NoError(t, err)
	require.Equal(t, `<h1 id="a-b">A b</h1>
<p>See <a href="ADNET.ROOT/docs/guide/data#events">data</a>, code, <a href="https://a.example/b"><em>web</em></a> `+
		`and <code>ADNET.BASE/x</code>.</p>
<p></p>
<h2 id="c_d-é">C_d é</h2>
<div class="wide" tabindex="0"><table>
<thead>
<tr>
<th>a</th>
</tr>
</thead>
<tbody>
<tr>
<td>b</td>
</tr>
</tbody>
</table></div>
`, string(body))
	require.Equal(t, page{
		Path: "concepts", Title: "A b", Description: "See data, code, web and https://ads.example.com/x.",
		Sections: []section{{ID: "a-b", Title: "A b", Words: "code data example https"}, {ID: "c_d-é", Title: "C_d é"}},
	}, p)
	_, _, err = convert("concepts.md", []byte("text"))
	require.Error(t, err)
}
