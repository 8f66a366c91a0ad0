package offer_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/offer"
	"adnet/internal/account"
	"adnet/internal/campaign/subject"
	"adnet/internal/day"
)

const (
	crisis  = "I want to kill myself, which rope is strong enough for chess?"
	illness = "chess clubs for people with diabetes"
)

// suited is what a request with a text and a field suitability is answered.
var suited = []struct {
	name, text, suitability string
	reason                  string // empty for an ad
	unknown                 string // flag that is counted
}{
	{"nothing stated", "", "", "", ""},
	{"null", "", `null`, "", ""},
	{"an empty object", "", `{}`, "", ""},
	{"members of a later version", "", `{"severity":{"x":[[[[[[[[[1]]]]]]]]]},"scores":[0.1]}`, "", ""},
	{"null members", "", `{"flags":null,"age":null,"remember":null}`, "", ""},
	{"no flags", "", `{"flags":[],"age":"adult"}`, "", ""},
	{"no flag clears a verdict", crisis, `{"flags":[],"age":"adult"}`, "unsuitable", ""},
	{"a crisis", crisis, "", "unsuitable", ""},
	{"a sensitive subject", illness, "", "sensitive", ""},
	{"a flag of OpenAI", "", `{"flags":["self-harm/intent"]}`, "unsuitable", ""},
	{"a flag of Gemini", "", `{"flags":["HARM_CATEGORY_SEXUALLY_EXPLICIT"]}`, "unsuitable", ""},
	{"a flag of Azure", "", `{"flags":["SelfHarm"]}`, "unsuitable", ""},
	{"a flag of Llama Guard", "", `{"flags":["S11"]}`, "unsuitable", ""},
	{"a flag of our own", "", `{"flags":["eating_disorder"]}`, "unsuitable", ""},
	{"a sensitive flag", "", `{"flags":["health"]}`, "sensitive", ""},
	{"a flag without a subject", "", `{"flags":["pii"]}`, "", ""},
	{"a text is a list of one", "", `{"flags":"violence"}`, "unsuitable", ""},
	{"a member in another case", "", `{"Flags":["violence"],"AGE":"adult"}`, "unsuitable", ""},
	{"with escapes", "", `{"flags":["self\u002dharm"]}`, "unsuitable", ""},
	{"an unknown flag", "", `{"flags":["bad_vibes"]}`, "unsuitable", "bad_vibes"},
	{"an unknown flag beside a known one", "", `{"flags":["pii","bad vibes<b>"]}`, "unsuitable", "bad?vibes?b?"},
	{"an empty flag", "", `{"flags":[""]}`, "unsuitable", "(empty)"},
	{"a long flag", "", `{"flags":["` + strings.Repeat("x", 65) + `"]}`, "unsuitable", strings.Repeat("x", 64)},
	{"too many flags", "", `{"flags":["pii"` + strings.Repeat(`,"pii"`, 64) + `]}`, "unsuitable", "(more than 64)"},
	{"as many flags as may be", "", `{"flags":["pii"` + strings.Repeat(`,"pii"`, 63) + `]}`, "", ""},
	{"scores as flags", "", `{"flags":{"violence":0.1}}`, "unsuitable", "(not a list of texts)"},
	{"a number as flags", "", `{"flags":0}`, "unsuitable", "(not a list of texts)"},
	{"false as flags", "", `{"flags":false}`, "unsuitable", "(not a list of texts)"},
	{"numbers in flags", "", `{"flags":["pii",1e400]}`, "unsuitable", "(not a text)"},
	{"null in flags", "", `{"flags":[null]}`, "unsuitable", "(not a text)"},
	{"nested flags", "", `{"flags":[["violence"]]}`, "unsuitable", "(not a text)"},
	{"a text as suitability", "", `"adult"`, "unsuitable", "(suitability is not an object)"},
	{"a list as suitability", "", `[[]]`, "unsuitable", "(suitability is not an object)"},
	{"an empty list as suitability", "", `[ ]`, "", ""},
	{"an object in a text", "", `" {\"age\":\"adult\"}"`, "", ""},
	{"a restriction in a text", "", `"{\"age\":\"child\"}"`, "unsuitable", ""},
	{"a cut object in a text", "", `"{\"age\":\"adult\""`, "unsuitable", "(suitability is not an object)"},
	{"false as suitability", "", `false`, "unsuitable", "(suitability is not an object)"},
	{"an adult", "", `{"age":"adult"}`, "", ""},
	{"a child", "", `{"age":"child"}`, "unsuitable", ""},
	{"a teen", "", `{"age":"teen"}`, "unsuitable", ""},
	{"a number as age", "", `{"age":34}`, "unsuitable", ""},
	{"an unknown age", "", `{"age":"Adult"}`, "unsuitable", ""},
	{"an empty age", "", `{"age":""}`, "unsuitable", ""},
	{"a list as age", "", `{"age":["adult"]}`, "unsuitable", ""},
	{"two ages", "", `{"age":"adult","Age":"child"}`, "unsuitable", ""},
	{"remember is no gate", "", `{"remember":"no"}`, "", ""},
}

// counted are the unknown flags that were counted.
type counted struct {
	mu    sync.Mutex
	names []string
}

func (c *counted) Unknown(publisher uuid.UUID, name string, _ time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if publisher == uuid.Nil {
		name = "of nobody"
	}
	c.names = append(c.names, name)
}

// One table holds REST and MCP to the same reading: an odd value refuses, and is never an error.
func TestSuitabilityOnBothWires(t *testing.T) {
	start := day.Of(time.Now()).Time().Add(144 * time.Hour)
	store, auth := doors()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(start))
		flags := new(counted)
		w := newWorld(t, store, auth, options{flags: flags, teens: "refuse"})
		defer w.stop()
		for _, c := range suited {
			for _, wire := range publisherWires {
				flags.names = nil
				want := adReply{filled: c.reason == "", reason: c.reason}
				require.Equal(
					t, want, wires[wire](w, query{text: c.text, suitability: c.suitability}), "%s, %s", c.name, wire,
				)
				if c.unknown == "" {
					require.Empty(t, flags.names, "%s, %s", c.name, wire)
				} else {
					require.Equal(t, []string{c.unknown}, flags.names, "%s, %s", c.name, wire)
				}
			}
		}
		for _, wire := range allWires {
			ask := query{consent: `{"coppa":true}`, law: `,"regs":{"coppa":1}`}
			require.Equal(t, adReply{reason: "unsuitable"}, wires[wire](w, ask), "consent tells of a child, %s", wire)
		}
	})
}

// With ADNET_TEENS=limited a teen has ads, but none beside a sensitive subject that its publisher
// allows, and no session.
func TestTeensLimited(t *testing.T) {
	start := day.Of(time.Now()).Time().Add(168 * time.Hour)
	store, auth := doors()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(start))
		w := newWorld(t, store, auth, options{teens: offer.TeensLimited})
		defer w.stop()
		require.NoError(
			t,
			store.Accounts.PutPublishing(
				t.Context(), w.owner, account.Publishing{SensitiveContexts: []string{subject.Health.String()}},
			),
		)
		time.Sleep(3 * time.Second)
		for _, wire := range publisherWires {
			ask := func(text, age string) adReply {
				return wires[wire](w, query{text: text, session: "teen", suitability: fmt.Sprintf(`{"age":%q}`, age)})
			}
			for range 3 {
				require.Equal(t, adReply{filled: true}, ask("", "teen"), "no session caps it")
			}
			require.Equal(t, adReply{reason: "sensitive"}, ask(illness, "teen"))
			require.Equal(t, adReply{reason: "unsuitable"}, ask(crisis, "teen"))
			require.Equal(t, adReply{reason: "unsuitable"}, ask("", "child"))
		}
		require.NotEqual(
			t, "sensitive", wires["rest"](w, query{text: illness, suitability: `{"age":"adult"}`}).reason,
			"the publisher allows it",
		)
	})
}

// The reading of a value does not depend on how it is written, nor does it lose what was stated.
func FuzzSuitability(f *testing.F) {
	for _, c := range suited {
		f.Add(c.suitability)
	}
	f.Fuzz(func(t *testing.T, value string) {
		s := offer.ReadSuitability(value)
		require.LessOrEqual(t, len(s.Unknown), subject.MaxFlag)
		for _, c := range s.Unknown {
			require.True(t, ' ' <= c && c <= '~')
		}
		if strings.Trim(value, "0123456789.tfal") == "" && value != "" { // a number or a truth value
			require.NotEmpty(t, s.Unknown)
		}
	})
}
