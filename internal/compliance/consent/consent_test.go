package consent

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"adnet/internal/jsonscan"
)

// tc writes the core of a TC string: version 2, vendor list 1, and the consents to purposes.
func tc(purposes ...int) string {
	b := make([]byte, 34)
	set := func(from, size, value int) {
		for i := range size {
			if value>>(size-1-i)&1 == 1 {
				b[(from+i)/8] |= 0x80 >> ((from + i) % 8)
			}
		}
	}
	set(0, 6, 2)
	set(120, 12, 1)
	for _, p := range purposes {
		set(151+p, 1, 1)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// section writes bits with numbers at their places.
func written(size int, at map[int]int) string {
	b := make([]byte, (size+7)/8)
	for from, value := range at {
		width := 2
		if from == 0 {
			width = 6 // the version
		}
		for i := range width {
			if value>>(width-1-i)&1 == 1 {
				b[(from+i)/8] |= 0x80 >> ((from + i) % 8)
			}
		}
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// Headers of GPP strings by the sections that follow, from IAB's examples.
const (
	headerTCF      = "DBABMA" // 2
	headerTCFUSP   = "DBACNY" // 2, 6
	headerUSP      = "DBABTA" // 6
	headerNational = "DBABLA" // 7
	headerCA       = "DBABBg" // 8

	newerSection = "DBABKY" // 28, not assigned yet
)

func TestSignals(t *testing.T) {
	national := func(at int) string { return written(60, map[int]int{0: 1, at: 1}) }
	for name, c := range map[string]struct {
		in      Signals
		refused bool
		flags   Flags
	}{
		"nothing":                         {Signals{}, false, 0},
		"purpose 1":                       {Signals{TCF: tc(1)}, false, Signal | GDPR},
		"all but purpose 1":               {Signals{TCF: tc(2, 3, 4, 7)}, true, Signal | GDPR | NoStorage},
		"gdpr and purpose 1":              {Signals{GDPR: Yes, TCF: tc(1, 2)}, false, Signal | GDPR},
		"gdpr without a text":             {Signals{GDPR: Yes}, true, Signal | GDPR | NoStorage},
		"no gdpr: the text does not hold": {Signals{GDPR: No, TCF: tc()}, false, Signal},
		"no gdpr":                         {Signals{GDPR: No}, false, Signal},
		"gdpr, a number of its own":       {Signals{GDPR: ParseChoice("7")}, true, Signal | Malformed},
		"TCF 1": {
			Signals{TCF: "BOEFEAyOEFEAyAHABDENAI4AAAB9vABAASA"}, true, Signal | GDPR | Malformed,
		},
		"no TC string":     {Signals{TCF: "🙂 C"}, true, Signal | GDPR | Malformed},
		"half a TC string": {Signals{TCF: tc(1)[:20]}, true, Signal | GDPR | Malformed},
		"a long text":      {Signals{TCF: "C" + strings.Repeat("A", 1<<20)}, true, Signal | GDPR | Malformed},
		"with segments":    {Signals{TCF: tc(1) + ".YAAAAAAAAAA"}, false, Signal | GDPR},

		"coppa":            {Signals{COPPA: Yes}, true, Signal | Child},
		"an unclear coppa": {Signals{COPPA: Unclear}, true, Signal | Child | Malformed},
		"unreadable":       {Signals{Unreadable: true}, true, Signal | Malformed},

		"no coppa": {Signals{COPPA: No}, false, Signal},
		"gpc":      {Signals{GPC: Yes, TCF: tc(1)}, true, Signal | GDPR | OptOut},
		"lmt":      {Signals{Limited: true}, true, Signal | OptOut},

		"us_privacy":               {Signals{USPrivacy: "1YNN"}, false, Signal},
		"us_privacy, not for them": {Signals{USPrivacy: "1---"}, false, Signal},
		"us_privacy, opted out":    {Signals{USPrivacy: "1YYN"}, true, Signal | OptOut},
		"us_privacy, lower case":   {Signals{USPrivacy: "1yyn"}, true, Signal | OptOut},
		"us_privacy, version 2":    {Signals{USPrivacy: "2YNN"}, true, Signal | Malformed},
		"us_privacy, long":         {Signals{USPrivacy: "1YNNN"}, true, Signal | Malformed},
		"us_privacy, other":        {Signals{USPrivacy: "1Y?N"}, true, Signal | Malformed},

		"gpp: TCF":              {Signals{GPP: headerTCF + "~" + tc(1)}, false, Signal | GDPR},
		"gpp: TCF refused":      {Signals{GPP: headerTCF + "~" + tc(2)}, true, Signal | GDPR | NoStorage},
		"gpp: TCF, no gdpr":     {Signals{GDPR: No, GPP: headerTCF + "~" + tc(2)}, false, Signal},
		"gpp and gdpr":          {Signals{GDPR: Yes, GPP: headerTCF + "~" + tc(1)}, false, Signal | GDPR},
		"gpp without TCF, gdpr": {Signals{GDPR: Yes, GPP: headerUSP + "~1YNN"}, true, Signal | GDPR | NoStorage},
		"gpp: TCF and USP":      {Signals{GPP: headerTCFUSP + "~" + tc(1) + "~1YYN"}, true, Signal | GDPR | OptOut},
		"gpp: USP not in force": {
			Signals{GPP: headerTCFUSP + "~" + tc(1) + "~1YYN", Sections: []int64{2}}, false, Signal | GDPR,
		},
		"gpp: none in force": {
			Signals{GPP: headerTCFUSP + "~" + tc() + "~1YYN", Sections: []int64{-1}}, false, Signal,
		},
		"gpp: national":            {Signals{GPP: headerNational + "~" + national(6)}, false, Signal},
		"gpp: national, sale":      {Signals{GPP: headerNational + "~" + national(18)}, true, Signal | OptOut},
		"gpp: national, sharing":   {Signals{GPP: headerNational + "~" + national(20)}, true, Signal | OptOut},
		"gpp: national, targeting": {Signals{GPP: headerNational + "~" + national(22)}, true, Signal | OptOut},
		"gpp: national, GPC":       {Signals{GPP: headerNational + "~" + national(6) + ".YA"}, true, Signal | OptOut},
		"gpp: national, GPC off":   {Signals{GPP: headerNational + "~" + national(6) + ".QA"}, false, Signal},
		"gpp: California, sale": {
			Signals{GPP: headerCA + "~" + written(60, map[int]int{0: 1, 12: 1})}, true, Signal | OptOut,
		},
		"gpp: cut":               {Signals{GPP: headerNational + "~BA"}, true, Signal | Malformed},
		"gpp: a section missing": {Signals{GPP: headerTCFUSP + "~" + tc(1)}, true, Signal | Malformed},
		"gpp: no header":         {Signals{GPP: "~1YNN"}, true, Signal | Malformed},
		"gpp: other":             {Signals{GPP: "x"}, true, Signal | Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.in.Read()
			require.Equal(t, c.flags, got, "%b", got)
			require.Equal(t, c.refused, got.Refused())
		})
	}
}

// What IAB's own library writes (@iabgpp/cmpapi 3.2.0 of npm) for each section of the USA: first
// every answer "did not opt out", then one answer, or GPC, "opted out".
func TestSectionsAsTheirLibraryWritesThem(t *testing.T) {
	for section, texts := range map[string][]string{
		"usnat": {
			"DBABLA~CAAqAAAAAABA.QA", "DBABLA~CAAaAAAAAABA.QA", "DBABLA~CAAmAAAAAABA.QA", "DBABLA~CAApAAAAAABA.QA",
			"DBABLA~CAAAAAAAAABA.YA",
		},
		"usca": {"DBABBg~BAoAAABA.QA", "DBABBg~BAYAAABA.QA", "DBABBg~BAkAAABA.QA", "DBABBg~BAAAAABA.YA"},
		"usva": {"DBABRg~BAoAABA", "DBABRg~BAYAABA", "DBABRg~BAkAABA"},
		"usco": {"DBABJg~BAoAAEA.QA", "DBABJg~BAYAAEA.QA", "DBABJg~BAkAAEA.QA", "DBABJg~BAAAAEA.YA"},
		"usut": {"DBABFg~BAKAAAQA", "DBABFg~BAGAAAQA", "DBABFg~BAJAAAQA"},
		"usct": {"DBABVg~BAoAAAEA.QA", "DBABVg~BAYAAAEA.QA", "DBABVg~BAkAAAEA.QA", "DBABVg~BAAAAAEA.YA"},
		"usfl": {"DBABAw~BAoAAABA", "DBABAw~BAYAAABA", "DBABAw~BAkAAABA"},
		"usmt": {"DBABQw~BAoAAABA.QA", "DBABQw~BAYAAABA.QA", "DBABQw~BAkAAABA.QA", "DBABQw~BAAAAABA.YA"},
		"usor": {"DBABIw~BAoAAAABAA.QA", "DBABIw~BAYAAAABAA.QA", "DBABIw~BAkAAAABAA.QA", "DBABIw~BAAAAAABAA.YA"},
		"ustx": {"DBABEw~BAoAAAQA.QA", "DBABEw~BAYAAAQA.QA", "DBABEw~BAkAAAQA.QA", "DBABEw~BAAAAAQA.YA"},
		"usde": {"DBABUw~BAoAAAABAA.QA", "DBABUw~BAYAAAABAA.QA", "DBABUw~BAkAAAABAA.QA", "DBABUw~BAAAAAABAA.YA"},
		"usia": {"DBABCw~BAKAAAQA.QA", "DBABCw~BAGAAAQA.QA", "DBABCw~BAJAAAQA.QA", "DBABCw~BAAAAAQA.YA"},
		"usne": {"DBABSw~BAoAAAQA.QA", "DBABSw~BAYAAAQA.QA", "DBABSw~BAkAAAQA.QA", "DBABSw~BAAAAAQA.YA"},
		"usnh": {"DBABKw~BAoAAABA.QA", "DBABKw~BAYAAABA.QA", "DBABKw~BAkAAABA.QA", "DBABKw~BAAAAABA.YA"},
		"usnj": {"DBABAYA~BAoAAAAAQA.QA", "DBABAYA~BAYAAAAAQA.QA", "DBABAYA~BAkAAAAAQA.QA", "DBABAYA~BAAAAAAAQA.YA"},
		"ustn": {"DBABQYA~BAoAAAQA.QA", "DBABQYA~BAYAAAQA.QA", "DBABQYA~BAkAAAQA.QA", "DBABQYA~BAAAAAQA.YA"},
		"usmn": {"DBABIYA~BAoAAAQA.QA", "DBABIYA~BAYAAAQA.QA", "DBABIYA~BAkAAAQA.QA", "DBABIYA~BAAAAAQA.YA"},
		"usmd": {"DBABEYA~BQCg.QA", "DBABEYA~BQBg.QA", "DBABEYA~BQCQ.QA", "DBABEYA~BQAA.YA"},
		"usin": {"DBABUYA~BQCg.AAA", "DBABUYA~BQBg.AAA", "DBABUYA~BQCQ.AAA"},
		"usky": {"DBABCYA~BQCg.AAA", "DBABCYA~BQBg.AAA", "DBABCYA~BQCQ.AAA"},
		"usri": {"DBABSYA~BQCg.AAA", "DBABSYA~BQBg.AAA", "DBABSYA~BQCQ.AAA"},
	} {
		require.Equal(t, Signal, (&Signals{GPP: texts[0]}).Read(), section)
		for _, text := range texts[1:] {
			require.Equal(t, Signal|OptOut, (&Signals{GPP: text}).Read(), "%s: %s", section, text)
		}
	}
	// Of TCF @iabtcf/core 1.5.6 wrote with purpose 1, and with purpose 2 alone.
	require.Equal(t, Signal|GDPR, (&Signals{TCF: "CQuIxQAQuIxQAAKACAENBkFAAIAAAAAAAAAAAAAAAAAA.IAAA"}).Read())
	require.Equal(t, Signal|GDPR|NoStorage, (&Signals{TCF: "CQuIxQAQuIxQAAKACAENBkFAAEAAAAAAAAAAAAAAAAAA.IAAA"}).Read())
	// A section that adnet does not know may be a state's. The header names section 28.
	require.Equal(t, Signal|Malformed, (&Signals{GPP: newerSection + "~BAAA"}).Read())
}

func TestNoSignalCostsNothing(t *testing.T) {
	require.Zero(t, testing.AllocsPerRun(100, func() {
		var s Signals
		if s.Read() != 0 {
			t.Error("nothing was said")
		}
	}))
}

func TestHeader(t *testing.T) {
	for _, values := range [][]string{
		{"1"}, {" 1 "}, {"true"}, {"TRUE"}, {"yes"}, {"Yes"}, {"on"}, {"?1"}, {"2"}, {"1, 1"}, {"0", "1"}, {"maybe"},
	} {
		require.True(t, GPC(http.Header{"Sec-Gpc": values}), values)
	}
	for _, values := range [][]string{nil, {"0"}, {""}, {" "}, {" 0 "}, {"false"}, {"False"}, {"no"}, {"0", ""}} {
		require.False(t, GPC(http.Header{"Sec-Gpc": values}), values)
	}
	require.False(t, GPC(nil))
}

func TestChoicesHaveManyForms(t *testing.T) {
	for want, values := range map[Choice][]string{
		Unsaid:  {`null`, `""`, `" "`},
		Yes:     {`true`, `1`, `"1"`, `"true"`, `"TRUE"`, `" yes "`, `1.0`, `"1e0"`},
		No:      {`false`, `0`, `"0"`, `"False"`, `"no"`, `0.0`, `-0`},
		Unclear: {`2`, `"maybe"`, `[1]`, `[]`, `{}`, `0.5`, `"\ud800"`, `-1`},
	} {
		for _, value := range values {
			require.Equal(t, want, ParseChoice(value), value)
			require.Equal(t, want == Yes || want == Unclear, ParseChoice(value).Strict())
		}
	}
}

// Both readers of a body take the same from it.
func TestJSON(t *testing.T) {
	for text, want := range map[string]Signals{
		`{"tcf":"a","gpp":"b","us_privacy":"1YNN","gpc":true,"coppa":false,"gdpr":1}`: {
			TCF: "a", GPP: "b", USPrivacy: "1YNN", GPC: Yes, COPPA: No, GDPR: Yes,
		},
		`{"gpc":"1","coppa":0,"gdpr":null}`: {GPC: Yes, COPPA: No},
		`{"gpc":[],"coppa":"maybe"}`:        {GPC: Unclear, COPPA: Unclear},
		`{}`:                                {},
	} {
		var general, plain Signals
		require.NoError(t, json.Unmarshal([]byte(text), &general))
		require.Equal(t, want, general, text)
		in := jsonscan.Read(text)
		plain.Scan(&in)
		require.True(t, in.Done(), text)
		require.Equal(t, want, plain, text)
	}
}

// Whatever a stranger sends: no panic, no memory, no time.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		tc(1), tc(), headerTCFUSP + "~" + tc(1) + "~1YYN", headerNational + "~BVVVVVVWCA.QA", "DBB_____~", "DBABzzzz",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range []Signals{{TCF: text}, {GPP: text}, {USPrivacy: text}} {
			if got := s.Read(); text != "" && got&Signal == 0 {
				t.Errorf("%q is a signal: %b", text, got)
			}
		}
	})
}
