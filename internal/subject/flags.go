package subject

// openAI are the categories of OpenAI's moderation API, and what they mean here.
var openAI = map[string]Set{
	"harassment": SetOf(Hate), "harassment/threatening": SetOf(Violence, Hate),
	"hate": SetOf(Hate), "hate/threatening": SetOf(Violence, Hate),
	"illicit": SetOf(Crime), "illicit/violent": SetOf(Violence, Weapons, Crime),
	"self-harm": SetOf(SelfHarm), "self-harm/intent": SetOf(SelfHarm), "self-harm/instructions": SetOf(SelfHarm),
	"sexual": SetOf(Sexual), "sexual/minors": SetOf(Minors),
	"violence": SetOf(Violence), "violence/graphic": SetOf(Violence),
}

// Flag returns the subjects of a flag: the name of a category of a moderation service, or of a
// subject. ok is false for a name that is not known.
func Flag(name string) (subjects Set, ok bool) {
	if subjects, ok = openAI[name]; ok {
		return subjects, true
	}
	id, ok := Parse(name)
	return SetOf(id), ok
}
