package subject

import "strings"

// Known is a category of a moderation service, with its subjects.
type Known struct {
	Name string `json:"flag"`
	// Subjects is empty for a known category that indicates neither a person in need nor a harm.
	Subjects Set `json:"subjects"`
}

// Service is a moderation service whose categories a publisher may send as flags.
type Service struct {
	Name  string  `json:"service"`
	Flags []Known `json:"flags"`
}

// Services lists the moderation services in use with the names of their categories, as their
// documentation writes them. The names of our own subjects are also flags; see [Flag].
var Services = []Service{
	{"OpenAI moderation", []Known{
		{"harassment", SetOf(Hate)},
		{"harassment/threatening", SetOf(Violence, Hate)},
		{"hate", SetOf(Hate)},
		{"hate/threatening", SetOf(Violence, Hate)},
		{"illicit", SetOf(Crime)},
		{"illicit/violent", SetOf(Violence, Weapons, Crime)},
		{"self-harm", SetOf(SelfHarm)},
		{"self-harm/intent", SetOf(SelfHarm)},
		{"self-harm/instructions", SetOf(SelfHarm)},
		{"sexual", SetOf(Sexual)},
		{"sexual/minors", SetOf(Minors)},
		{"violence", SetOf(Violence)},
		{"violence/graphic", SetOf(Violence)},
	}},
	{"Google Gemini and Vertex AI", []Known{
		{"HARM_CATEGORY_HATE_SPEECH", SetOf(Hate)},
		{"HARM_CATEGORY_DANGEROUS_CONTENT", SetOf(Weapons, Crime)},
		{"HARM_CATEGORY_HARASSMENT", SetOf(Hate)},
		{"HARM_CATEGORY_SEXUALLY_EXPLICIT", SetOf(Sexual)},
		{"HARM_CATEGORY_CIVIC_INTEGRITY", SetOf(Politics)},
		{"HARM_CATEGORY_JAILBREAK", SetOf(Crime)},
		{"HARM_CATEGORY_DEROGATORY", SetOf(Hate)},
		{"HARM_CATEGORY_TOXICITY", SetOf(Hate)},
		{"HARM_CATEGORY_VIOLENCE", SetOf(Violence)},
		{"HARM_CATEGORY_SEXUAL", SetOf(Sexual)},
		{"HARM_CATEGORY_MEDICAL", SetOf(Health)},
		{"HARM_CATEGORY_DANGEROUS", SetOf(Weapons, Crime)},
	}},
	{"Google Cloud Natural Language", []Known{
		{"Toxic", SetOf(Hate)},
		{"Insult", SetOf(Hate)},
		{"Profanity", SetOf(Hate)},
		{"Derogatory", SetOf(Hate)},
		{"Sexual", SetOf(Sexual)},
		{"Death, Harm & Tragedy", SetOf(Distress)},
		{"Violent", SetOf(Violence)},
		{"Firearms & Weapons", SetOf(Weapons)},
		{"Public Safety", 0},
		{"Health", SetOf(Health)},
		{"Religion & Belief", SetOf(Religion)},
		{"Illicit Drugs", SetOf(Drugs)},
		{"War & Conflict", SetOf(Disasters)},
		{"Politics", SetOf(Politics)},
		{"Finance", SetOf(Debt)},
		{"Legal", SetOf(Legal)},
	}},
	{"Perspective", []Known{
		{"TOXICITY", SetOf(Hate)},
		{"SEVERE_TOXICITY", SetOf(Hate)},
		{"IDENTITY_ATTACK", SetOf(Hate)},
		{"INSULT", SetOf(Hate)},
		{"PROFANITY", SetOf(Hate)},
		{"THREAT", SetOf(Violence)},
		{"SEXUALLY_EXPLICIT", SetOf(Sexual)},
		{"FLIRTATION", SetOf(Sexuality)},
		{"ATTACK_ON_AUTHOR", SetOf(Hate)},
		{"ATTACK_ON_COMMENTER", SetOf(Hate)},
		{"INFLAMMATORY", SetOf(Hate)},
		{"OBSCENE", SetOf(Sexual)},
		{"INCOHERENT", 0},
		{"SPAM", 0},
		{"UNSUBSTANTIAL", 0},
	}},
	{"Azure AI Content Safety", []Known{
		{"Hate", SetOf(Hate)},
		{"SelfHarm", SetOf(SelfHarm)},
		{"Sexual", SetOf(Sexual)},
		{"Violence", SetOf(Violence)},
	}},
	{"Llama Guard 3", []Known{
		{"S1", SetOf(Violence)}, {"Violent Crimes", SetOf(Violence)},
		{"S2", SetOf(Crime)}, {"Non-Violent Crimes", SetOf(Crime)},
		{"S3", SetOf(Sexual, Crime)}, {"Sex-Related Crimes", SetOf(Sexual, Crime)},
		{"S4", SetOf(Minors)}, {"Child Sexual Exploitation", SetOf(Minors)},
		{"S5", SetOf(Crime)}, {"Defamation", SetOf(Crime)},
		{"S6", SetOf(Health, Legal, Debt)}, {"Specialized Advice", SetOf(Health, Legal, Debt)},
		{"S7", SetOf(Crime)}, {"Privacy", SetOf(Crime)},
		{"S8", SetOf(Crime)}, {"Intellectual Property", SetOf(Crime)},
		{"S9", SetOf(Weapons)}, {"Indiscriminate Weapons", SetOf(Weapons)},
		{"S10", SetOf(Hate)}, {"Hate", SetOf(Hate)},
		{"S11", SetOf(Suicide, SelfHarm)}, {"Suicide & Self-Harm", SetOf(Suicide, SelfHarm)},
		{"S12", SetOf(Sexual)}, {"Sexual Content", SetOf(Sexual)},
		{"S13", SetOf(Politics)}, {"Elections", SetOf(Politics)},
		{"S14", SetOf(Crime)}, {"Code Interpreter Abuse", SetOf(Crime)},
	}},
	{"Mistral moderation", []Known{
		{"sexual", SetOf(Sexual)},
		{"hate_and_discrimination", SetOf(Hate)},
		{"violence_and_threats", SetOf(Violence)},
		{"dangerous_and_criminal_content", SetOf(Crime)},
		{"dangerous", SetOf(Weapons, Crime)},
		{"criminal", SetOf(Crime)},
		{"jailbreaking", SetOf(Crime)},
		{"selfharm", SetOf(SelfHarm)},
		{"health", SetOf(Health)},
		{"financial", SetOf(Debt)},
		{"law", SetOf(Legal)},
		{"pii", 0},
	}},
	{"Amazon Bedrock and Comprehend", []Known{
		{"HATE", SetOf(Hate)},
		{"INSULTS", SetOf(Hate)},
		{"SEXUAL", SetOf(Sexual)},
		{"VIOLENCE", SetOf(Violence)},
		{"MISCONDUCT", SetOf(Crime)},
		{"PROMPT_ATTACK", SetOf(Crime)},
		{"HATE_SPEECH", SetOf(Hate)},
		{"GRAPHIC", SetOf(Violence)},
		{"HARASSMENT_OR_ABUSE", SetOf(Hate)},
		{"VIOLENCE_OR_THREAT", SetOf(Violence)},
	}},
}

// MaxFlag is the maximum length of a flag's name, in bytes.
const MaxFlag = 64

// flags holds the known flags by their normal form.
var flags = knownFlags()

func knownFlags() map[string]Set {
	known := map[string]Set{}
	add := func(name string, subjects Set) {
		var room [MaxFlag]byte
		known[string(appendNormal(room[:0], name))] |= subjects
	}
	for i := range Services {
		for _, flag := range Services[i].Flags {
			add(flag.Name, flag.Subjects)
		}
	}
	for i := range All {
		add(All[i].Name, SetOf(All[i].ID))
	}
	return known
}

// Flag returns the subjects of a flag: the name of a category of one of [Services], or of a
// subject. Names are compared without regard to case, spaces and the characters `_`, `-` and `/`. A
// name with different subjects at two services stands for both. ok is false for an unknown name; a
// known one may have no subject.
func Flag(name string) (subjects Set, ok bool) {
	if len(name) > MaxFlag {
		return 0, false
	}
	var room [MaxFlag]byte
	subjects, ok = flags[string(appendNormal(room[:0], name))]
	return subjects, ok
}

// appendNormal appends the form in which names of flags are compared. No name has letters outside
// ASCII.
func appendNormal(b []byte, name string) []byte {
	for i := range len(name) {
		switch c := name[i]; {
		case strings.IndexByte(" _-/", c) >= 0:
		case 'A' <= c && c <= 'Z':
			b = append(b, c|0x20)
		default:
			b = append(b, c)
		}
	}
	return b
}
