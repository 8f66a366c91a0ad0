package suitability_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction/suitability"
	"adnet/internal/campaign/subject"
	"adnet/internal/demo"
)

// Texts that sound like distress but are ordinary.
func TestOrdinary(t *testing.T) {
	for _, text := range []string{
		"How do I kill a Python process?", "Where can I shoot a portrait in the evening?",
		"Is Suicide Squad worth watching?", "Why do I get a dead lock in my Go program?",
		"How do I wait for a child process in Node?", "a gift for my 9-year-old son",
		"I am 9 months pregnant and need a car seat", "translate 'I am nine years old' into French",
		"I have worked in IT for 15 years", "my phone is dying, which power bank should I buy",
		"That's a killer deal on laptops",
		"Our helpline is open day and night: call us, it is free. How do I make its page load faster?",
		"I'm 12 minutes late, write an apology", "it is 11 km to the station", "my meeting is at 10:30",
		"a course in suicide prevention for teachers", "git reset --hard HEAD~3",
		"This dessert is the bomb", "I'm dying to see the new season", "best moves to attack the king's side",
		"how do I get rid of ants in the kitchen",
	} {
		v := judge(text)
		require.Equal(t, subject.None, v.Never, "%s: %s %v", text, v.Never, suitability.Why(text))
	}
	v := judge("War: 40 dead after missile attack on the capital, ministry says")
	require.Equal(t, subject.None, v.Never)
	require.True(t, v.Sensitive.Has(subject.Disasters))
}

func TestNever(t *testing.T) {
	for text, want := range map[string]subject.ID{
		"I want to kill myself, which rope is strong enough?": subject.Suicide,
		"i wanna kms":                                          subject.Suicide,
		"I WANT TO KILL MYSELF":                                subject.Suicide,
		"i want to k1ll mys3lf":                                subject.Suicide,
		"i want to k.i.l.l m.y.s.e.l.f":                        subject.Suicide,
		"i w a n t t o k i l l m y s e l f":                    subject.Suicide,
		"i want to ki\u200bll mys\u00adelf":                    subject.Suicide,
		"I wаnt tо kіll myѕelf":                                subject.Suicide, // Cyrillic letters
		"iwanttokillmyself":                                    subject.Suicide,
		"i want to k*ll mys*lf":                                subject.Suicide,
		"Ich will mich umbringen":                              subject.Suicide,
		"我想自杀":                                                 subject.Suicide,
		"死にたい":                                                 subject.Suicide,
		"I'm 12 and my mom says I can't have it":               subject.Child,
		"Write something.\n\nAlso, how do I make a pipe bomb?": subject.Weapons,
	} {
		v := judge(text)
		require.Equal(t, want, v.Never, text)
		require.Equal(t, suitability.ByRule, v.By, text)
		require.True(t, v.Lasts, text)
	}
}

// A helpline's own page may name the distress of its reader, and a person in need may name the
// helpline.
func TestHelpline(t *testing.T) {
	for _, text := range []string{
		"If you think of suicide call the helpline 988, open day and night",
		"Are you feeling suicidal? Chat with a trained volunteer.",
		"Wenn du Suizidgedanken hast, ruf die Telefonseelsorge an, rund um die Uhr",
		"¿Tienes pensamientos suicidas? Llama al 024, gratuito y confidencial",
		"Vous avez des idées suicidaires ? Appelez le 3114, jour et nuit",
		"Hai pensieri suicidi? Chiama il Telefono Amico",
		"Se você está pensando em se matar, ligue para o CVV no 188",
		"如果你有自杀的念头，请拨打热线12356", "자살 생각이 드나요? 상담전화 109", "自殺を考えている方は、いのちの電話にご相談ください",
		"إذا كنت تفكر في الانتحار فاتصل بخط المساعدة", "หากคุณคิดฆ่าตัวตาย โทรสายด่วน 1323",
		"Nếu bạn đang nghĩ đến tự tử, hãy gọi đường dây nóng",
	} {
		require.Equal(t, subject.None, judge(text).Never, "%s: %v", text, suitability.Why(text))
	}
	for _, text := range []string{
		"The helpline did not answer and I am suicidal",
		"my friend is thinking about suicide, should I call a helpline for her",
		"If you want to kill yourself call us, they say. I want to kill myself and nobody picks up",
		"mi hermano tiene pensamientos suicidas y no llama al 024", "meu irmão está pensando em suicídio",
	} {
		require.Equal(t, subject.Suicide, judge(text).Never, text)
	}
}

// The part after ex- is a word of its own; hyphens within other words hide them.
func TestHyphens(t *testing.T) {
	for _, text := range []string{
		"meu ex-marido me bate", "meu ex marido me bate", "mi ex-novio me pega", "my ex-husband threatened to kill me",
	} {
		require.Equal(t, subject.Abuse, judge(text).Never, text)
	}
	require.Equal(t, subject.Suicide, judge("i want to k-i-l-l my-self").Never)
}

// A sentence of distress in the middle of a long text is found.
func TestLongText(t *testing.T) {
	talk := strings.Repeat("Please plan a week of vegetarian dinners for four people, with a shopping list. ", 12)
	require.Equal(t, subject.None, judge(talk).Never)
	require.NotEqual(t, subject.None, judge(talk+"I cry every night and nobody would miss me. "+talk).Never)
}

// A text of the assistant refuses its own request only.
func TestAssistantDoesNotLast(t *testing.T) {
	var r suitability.Reader
	r.Read("I am sorry that you want to kill yourself: I want to kill myself, you wrote", suitability.Assistant)
	require.NotEqual(t, subject.None, r.Verdict().Never)
	require.False(t, r.Verdict().Lasts)
	r.Read("yes, I want to kill myself", suitability.User)
	require.True(t, r.Verdict().Lasts)
	r.Reset()
	require.Equal(t, suitability.Verdict{}, r.Verdict())
}

func TestSensitive(t *testing.T) {
	for text, want := range map[string]subject.ID{
		"What can I eat with type 2 diabetes?":                                subject.Health,
		"Which party wants to raise the retirement age in the next election?": subject.Politics,
		"When does Ramadan begin this year?":                                  subject.Religion,
		"best online casino bonus":                                            subject.Gambling,
	} {
		v := judge(text)
		require.Equal(t, subject.None, v.Never, text)
		require.True(t, v.Sensitive.Has(want), "%s: %v", text, v.Sensitive.Names())
		require.Equal(t, subject.Sensitive, v.Tier())
	}
}

// The demo's requests are ordinary or sensitive, and its requests in distress are refused.
func TestDemo(t *testing.T) {
	requests, err := demo.Requests()
	require.NoError(t, err)
	for _, r := range requests {
		v := judge(r.Context)
		require.Equal(t, subject.None, v.Never, "%s: %s by %s %v", r.ID, v.Never, v.By, suitability.Why(r.Context))
	}
	needs, err := demo.Needs()
	require.NoError(t, err)
	require.NotEmpty(t, needs)
	for _, r := range needs {
		require.NotEqual(t, subject.None, judge(r.Context).Never, r.ID)
	}
}

// The plainest crises in each language, one per line, are refused.
func TestPlainCrises(t *testing.T) {
	text, err := os.ReadFile("testdata/plain.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		require.NotEqual(t, subject.None, judge(strings.TrimSpace(line)).Never, line)
	}
}
