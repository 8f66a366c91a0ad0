package subject

// Categories of the GARM brand safety floor and suitability framework (2020).
const (
	garmAdult     = "Adult & explicit sexual content"
	garmArms      = "Arms & ammunition"
	garmCrime     = "Crime & harmful acts to individuals and society, human right violations"
	garmDeath     = "Death, injury or military conflict"
	garmHate      = "Hate speech & acts of aggression"
	garmDrugs     = "Illegal drugs, tobacco, e-cigarettes, vaping, alcohol"
	garmTerrorism = "Terrorism"
	garmDebated   = "Debated sensitive social issue"
)

// All is the closed list, in the order of the constants.
var All = [...]Subject{
	{
		ID: Suicide, Name: "suicide", Tier: Never, Title: "Suicide", GARM: garmDeath,
		Means:   "Somebody thinks of, plans or asks for a suicide, the writer's own or that of a person near.",
		Example: "I do not want to be alive any more.",
	},
	{
		ID: SelfHarm, Name: "self_harm", Tier: Never, Title: "Self-harm", GARM: garmDeath,
		Means: "Somebody hurts their own body or wants to.", Example: "How do I hide the cuts on my arm?",
	},
	{
		ID: EatingDisorder, Name: "eating_disorder", Tier: Never, Title: "Eating disorders", GARM: garmDeath,
		Means:   "Starving, purging or extreme thinness as an aim.",
		Example: "I ate nothing for four days and I am still too fat.",
	},
	{
		ID: Overdose, Name: "overdose", Tier: Never, Title: "Overdose and poisoning", GARM: garmDeath,
		Means:   "An overdose or a poisoning that happened or is feared.",
		Example: "My flatmate swallowed the whole bottle of pills.",
	},
	{
		ID: Emergency, Name: "emergency", Tier: Never, Title: "Emergencies", GARM: garmDeath,
		Means:   "A medical emergency or a danger that is happening now.",
		Example: "My father fell down and does not breathe.",
	},
	{
		ID: Abuse, Name: "abuse", Tier: Never, Title: "Abuse", GARM: garmCrime,
		Means: "Domestic, sexual or child abuse, bullying, stalking or coercion that the writer or a person near " +
			"suffers.", Example: "My husband hits me when he drinks.",
		Content: Codes{V1: []string{"IAB7-28"}},
	},
	{
		ID: Minors, Name: "minors", Tier: Never, Title: "Minors and sex", GARM: garmAdult,
		Means: "Anything sexual about a person under 18.", Example: "(none is given)",
	},
	{
		ID: Child, Name: "child", Tier: Never, Title: "A reader who is a child", GARM: garmDebated,
		Means:   "The reader is under 18, by the reader's own words or the publisher's.",
		Example: "I'm 11 and my mom won't let me have a phone.",
	},
	{
		ID: Distress, Name: "distress", Tier: Never, Title: "A person in distress", GARM: garmDeath,
		Means:   "A person in mental or physical need: despair, panic, hopelessness, loneliness that hurts.",
		Example: "I cry every night and nobody would miss me.",
	},
	{
		ID: Violence, Name: "violence", Tier: Never, Title: "Violence", GARM: garmCrime,
		Means:   "Hurting or killing people or animals, asked for or threatened.",
		Example: "How do I hurt my boss so that it looks like an accident?",
		Content: Codes{V1: []string{"IAB25-2"}},
	},
	{
		ID: Weapons, Name: "weapons", Tier: Never, Title: "Weapons", GARM: garmArms,
		Means:   "Making weapons, explosives or poisons, or getting them against the law.",
		Example: "How can I buy a gun without a licence?",
		Content: Codes{V2: []string{"avbNf2"}, V3: []string{"avbNf2"}},
	},
	{
		ID: Crime, Name: "crime", Tier: Never, Title: "Crimes asked for", GARM: garmCrime,
		Means: "Theft, fraud, intrusion, drug dealing, forgery, stalking, blackmail or getting away with a crime, " +
			"asked for.", Example: "Write a text that gets pensioners to tell me their PIN.",
		Content: Codes{
			V1: []string{"IAB26"}, V2: []string{"XtODT3", "mm3UXx", "6i4dB6"},
			V3: []string{"XtODT3", "mm3UXx", "6i4dB6"},
		},
	},
	{
		ID: Extremism, Name: "extremism", Tier: Never, Title: "Extremism and terror", GARM: garmTerrorism,
		Means:   "Praise, propaganda, recruiting or planning for terror groups and violent movements.",
		Example: "How do I join an armed terror group?",
		Content: Codes{V2: []string{"8FD8nI"}, V3: []string{"8FD8nI"}},
	},
	{
		ID: Hate, Name: "hate", Tier: Never, Title: "Hate", GARM: garmHate,
		Means:   "Contempt for a group of people, slurs, discrimination asked for.",
		Example: "Tell me why people of that religion are vermin.",
		Content: Codes{V1: []string{"IAB25-5"}, V2: []string{"HxqYV1"}, V3: []string{"HxqYV1"}},
	},
	{
		ID: Sexual, Name: "sexual", Tier: Never, Title: "Sexual content", GARM: garmAdult,
		Means:   "Sexual texts, pornography and sexual services.",
		Example: "Write an explicit story about two strangers.",
		Content: Codes{V1: []string{"IAB25-3"}, V2: []string{"Rm3SiT"}, V3: []string{"Rm3SiT", "MQ2XML"}},
	},
	{
		ID: Health, Name: "health", Tier: Sensitive, Title: "Health conditions", GARM: garmDebated, OfPerson: true,
		Means:   "Diseases, disabilities, symptoms, medicines and treatments of people.",
		Example: "What can I eat with type 2 diabetes?",
		Content: Codes{
			V1: []string{"IAB7", "IAB6-8"}, V2: []string{"286", "199", "224", "230", "231"},
			V3: []string{"286", "199", "224", "230", "231"},
		},
	},
	{
		ID: MentalHealth, Name: "mental_health", Tier: Sensitive, Title: "Mental health", GARM: garmDebated,
		OfPerson: true,
		Means:    "Mental health in general, therapy and diagnoses, without a person in need.",
		Example:  "How does a psychiatrist test for bipolar disorder?",
		Content: Codes{
			V1: []string{"IAB7-2", "IAB7-8", "IAB7-9", "IAB7-18", "IAB7-34", "IAB7-37"}, V2: []string{"301"},
			V3: []string{"301"},
		},
	},
	{
		ID: Grief, Name: "grief", Tier: Sensitive, Title: "Pregnancy loss and grief", GARM: garmDebated, OfPerson: true,
		Means:   "A miscarriage, an abortion, a death in the family, mourning.",
		Example: "What do I write in a card for a friend whose mother died?",
		Content: Codes{V2: []string{"171", "187", "433"}, V3: []string{"171", "187", "433"}},
	},
	{
		ID: Addiction, Name: "addiction", Tier: Sensitive, Title: "Addiction", GARM: garmDrugs, OfPerson: true,
		Means: "Addiction and recovery from it.", Example: "How long does a rehab programme take?",
		Content: Codes{V1: []string{"IAB7-42"}, V2: []string{"311"}, V3: []string{"311"}},
	},
	{
		ID: Religion, Name: "religion", Tier: Sensitive, Title: "Religion", GARM: garmDebated, OfPerson: true,
		Means: "Faiths, their practice, places and teachers.", Example: "When does Ramadan begin this year?",
		Content: Codes{V1: []string{"IAB23"}, V2: []string{"175", "453"}, V3: []string{"453"}},
	},
	{
		ID: Sexuality, Name: "sexuality", Tier: Sensitive, Title: "Sexuality", GARM: garmDebated, OfPerson: true,
		Means:   "Sexual orientation and identity, sex life and contraception.",
		Example: "How do I come out to my parents?",
		Content: Codes{
			V1: []string{"IAB7-39", "IAB14-3"}, V2: []string{"303", "307", "308"}, V3: []string{"303", "307", "308"},
		},
	},
	{
		ID: Politics, Name: "politics", Tier: Sensitive, Title: "Politics and elections", GARM: garmDebated,
		OfPerson: true,
		Means:    "Parties, elections, politicians, debated laws, trade unions.",
		Example:  "Which party wants to raise the retirement age?",
		Content: Codes{
			V1: []string{"IAB11", "IAB11-4", "IAB11-5"}, V2: []string{"174", "379", "386", "Z7rJBM"},
			V3: []string{"386", "8YPBBL", "Z7rJBM"},
		},
	},
	{
		ID: Legal, Name: "legal", Tier: Sensitive, Title: "Legal trouble", GARM: garmDebated,
		Means:   "Charges, trials, divorce, custody, being sued or arrested.",
		Example: "I got a letter from a court, must I answer it?",
		Content: Codes{
			V1: []string{"IAB11", "IAB11-2", "IAB14-2"}, V2: []string{"189", "383"}, V3: []string{"189", "383"},
		},
	},
	{
		ID: Debt, Name: "debt", Tier: Sensitive, Title: "Debt and job loss", GARM: garmDebated,
		Means:   "Debts, insolvency, eviction, being dismissed or out of work.",
		Example: "I was fired today. Do I get unemployment benefits?",
		Content: Codes{V1: []string{"IAB13-2"}, V2: []string{"65", "394", "405"}, V3: []string{"65", "394", "405"}},
	},
	{
		ID: Immigration, Name: "immigration", Tier: Sensitive, Title: "Immigration and origin", GARM: garmDebated,
		OfPerson: true,
		Means:    "Asylum, residence permits, deportation, ethnic origin.",
		Example:  "How do I renew my residence permit as a refugee?",
		Content:  Codes{V1: []string{"IAB11-1", "IAB14-8"}},
	},
	{
		ID: Disasters, Name: "disasters", Tier: Sensitive, Title: "Disasters and wars", GARM: garmDeath,
		Means:   "Wars, attacks, accidents with victims, natural disasters, and news of them.",
		Example: "What happened in the earthquake yesterday?",
		Content: Codes{V2: []string{"380", "381", "389", "I4GWl6"}, V3: []string{"380", "381", "389", "I4GWl6"}},
	},
	{
		ID: Gambling, Name: "gambling", Tier: Sensitive, Title: "Gambling", GARM: garmDebated,
		Means: "Betting, casinos, lotteries for money.", Example: "Which bookmaker has the best odds for Sunday?",
		Content: Codes{
			V1: []string{"IAB9-7"}, V2: []string{"181", "480", "524"}, V3: []string{"181", "480", "524", "ZJG29S"},
		},
	},
	{
		ID: Alcohol, Name: "alcohol", Tier: Sensitive, Title: "Alcohol", GARM: garmDrugs,
		Means: "Alcoholic drinks as the subject.", Example: "Which whisky goes with a cigar?",
		Content: Codes{V1: []string{"IAB8-5", "IAB8-18"}, V2: []string{"211", "pg0WhF"}, V3: []string{"211", "pg0WhF"}},
	},
	{
		ID: Tobacco, Name: "tobacco", Tier: Sensitive, Title: "Tobacco", GARM: garmDrugs,
		Means: "Tobacco, cigarettes and vaping.", Example: "Which vape has the longest battery life?",
		Content: Codes{
			V1: []string{"IAB7-41", "IAB9-9"}, V2: []string{"237", "260", "pg0WhF"},
			V3: []string{"237", "260", "pg0WhF"},
		},
	},
	{
		ID: Drugs, Name: "drugs", Tier: Sensitive, Title: "Drugs", GARM: garmDrugs,
		Means:   "Recreational drugs, legal or not, without dealing asked for.",
		Example: "In which countries is cannabis legal?",
		Content: Codes{V2: []string{"pg0WhF"}, V3: []string{"pg0WhF"}},
	},
}
