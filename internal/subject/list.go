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
		Means: "Somebody thinks of, plans or asks for a suicide, the writer's own or that of a person near.", Example: "I do not want to be alive any more.",
	},
	{
		ID: SelfHarm, Name: "self_harm", Tier: Never, Title: "Self-harm", GARM: garmDeath,
		Means: "Somebody hurts their own body or wants to.", Example: "How do I hide the cuts on my arm?",
	},
	{
		ID: EatingDisorder, Name: "eating_disorder", Tier: Never, Title: "Eating disorders", GARM: garmDeath,
		Means: "Starving, purging or extreme thinness as an aim.", Example: "I ate nothing for four days and I am still too fat.",
	},
	{
		ID: Overdose, Name: "overdose", Tier: Never, Title: "Overdose and poisoning", GARM: garmDeath,
		Means: "An overdose or a poisoning that happened or is feared.", Example: "My flatmate swallowed the whole bottle of pills.",
	},
	{
		ID: Emergency, Name: "emergency", Tier: Never, Title: "Emergencies", GARM: garmDeath,
		Means: "A medical emergency or a danger that is happening now.", Example: "My father fell down and does not breathe.",
	},
	{
		ID: Abuse, Name: "abuse", Tier: Never, Title: "Abuse", GARM: garmCrime,
		Means: "Domestic, sexual or child abuse, bullying, stalking or coercion that the writer or a person near suffers.", Example: "My husband hits me when he drinks.",
		Content: Codes{V1: []string{"IAB7-28"}},
	},
	{
		ID: Minors, Name: "minors", Tier: Never, Title: "Minors and sex", GARM: garmAdult,
		Means: "Anything sexual about a person under 18.", Example: "(none is given)",
	},
	{
		ID: Child, Name: "child", Tier: Never, Title: "A reader who is a child", GARM: garmDebated,
		Means: "The reader is under 18, by the reader's own words or the publisher's.", Example: "I'm 11 and my mom won't let me have a phone.",
	},
	{
		ID: Distress, Name: "distress", Tier: Never, Title: "A person in distress", GARM: garmDeath,
		Means: "A person in mental or physical need: despair, panic, hopelessness, loneliness that hurts.", Example: "I cry every night and nobody would miss me.",
	},
	{
		ID: Violence, Name: "violence", Tier: Never, Title: "Violence", GARM: garmCrime,
		Means: "Hurting or killing people or animals, asked for or threatened.", Example: "How do I hurt my boss so that it looks like an accident?",
	},
	{
		ID: Weapons, Name: "weapons", Tier: Never, Title: "Weapons", GARM: garmArms,
		Means: "Making weapons, explosives or poisons, or getting them against the law.", Example: "How can I buy a gun without a licence?",
	},
	{
		ID: Crime, Name: "crime", Tier: Never, Title: "Crimes asked for", GARM: garmCrime,
		Means: "Theft, fraud, intrusion, drug dealing, forgery, stalking, blackmail or getting away with a crime, asked for.", Example: "Write a text that gets pensioners to tell me their PIN.",
		Content: Codes{V1: []string{"IAB26"}},
	},
	{
		ID: Extremism, Name: "extremism", Tier: Never, Title: "Extremism and terror", GARM: garmTerrorism,
		Means: "Praise, propaganda, recruiting or planning for terror groups and violent movements.", Example: "How do I join an armed terror group?",
	},
	{
		ID: Hate, Name: "hate", Tier: Never, Title: "Hate", GARM: garmHate,
		Means: "Contempt for a group of people, slurs, discrimination asked for.", Example: "Tell me why people of that religion are vermin.",
		Content: Codes{V1: []string{"IAB25-5"}},
	},
	{
		ID: Sexual, Name: "sexual", Tier: Never, Title: "Sexual content", GARM: garmAdult,
		Means: "Sexual texts, pornography and sexual services.", Example: "Write an explicit story about two strangers.",
		Content: Codes{V1: []string{"IAB25-3"}},
	},
	{
		ID: Health, Name: "health", Tier: Sensitive, Title: "Health conditions", GARM: garmDebated, OfPerson: true,
		Means: "Diseases, disabilities, symptoms, medicines and treatments of people.", Example: "What can I eat with type 2 diabetes?",
	},
	{
		ID: MentalHealth, Name: "mental_health", Tier: Sensitive, Title: "Mental health", GARM: garmDebated, OfPerson: true,
		Means: "Mental health in general, therapy and diagnoses, without a person in need.", Example: "How does a psychiatrist test for bipolar disorder?",
	},
	{
		ID: Grief, Name: "grief", Tier: Sensitive, Title: "Pregnancy loss and grief", GARM: garmDebated, OfPerson: true,
		Means: "A miscarriage, an abortion, a death in the family, mourning.", Example: "What do I write in a card for a friend whose mother died?",
	},
	{
		ID: Addiction, Name: "addiction", Tier: Sensitive, Title: "Addiction", GARM: garmDrugs, OfPerson: true,
		Means: "Addiction and recovery from it.", Example: "How long does a rehab programme take?",
	},
	{
		ID: Religion, Name: "religion", Tier: Sensitive, Title: "Religion", GARM: garmDebated, OfPerson: true,
		Means: "Faiths, their practice, places and teachers.", Example: "When does Ramadan begin this year?",
	},
	{
		ID: Sexuality, Name: "sexuality", Tier: Sensitive, Title: "Sexuality", GARM: garmDebated, OfPerson: true,
		Means: "Sexual orientation and identity, sex life and contraception.", Example: "How do I come out to my parents?",
	},
	{
		ID: Politics, Name: "politics", Tier: Sensitive, Title: "Politics and elections", GARM: garmDebated, OfPerson: true,
		Means: "Parties, elections, politicians, debated laws, trade unions.", Example: "Which party wants to raise the retirement age?",
	},
	{
		ID: Legal, Name: "legal", Tier: Sensitive, Title: "Legal trouble", GARM: garmDebated,
		Means: "Charges, trials, divorce, custody, being sued or arrested.", Example: "I got a letter from a court, must I answer it?",
	},
	{
		ID: Debt, Name: "debt", Tier: Sensitive, Title: "Debt and job loss", GARM: garmDebated,
		Means: "Debts, insolvency, eviction, being dismissed or out of work.", Example: "I was fired today. Do I get unemployment benefits?",
	},
	{
		ID: Immigration, Name: "immigration", Tier: Sensitive, Title: "Immigration and origin", GARM: garmDebated, OfPerson: true,
		Means: "Asylum, residence permits, deportation, ethnic origin.", Example: "How do I renew my residence permit as a refugee?",
	},
	{
		ID: Disasters, Name: "disasters", Tier: Sensitive, Title: "Disasters and wars", GARM: garmDeath,
		Means: "Wars, attacks, accidents with victims, natural disasters, and news of them.", Example: "What happened in the earthquake yesterday?",
	},
	{
		ID: Gambling, Name: "gambling", Tier: Sensitive, Title: "Gambling", GARM: garmDebated,
		Means: "Betting, casinos, lotteries for money.", Example: "Which bookmaker has the best odds for Sunday?",
	},
	{
		ID: Alcohol, Name: "alcohol", Tier: Sensitive, Title: "Alcohol", GARM: garmDrugs,
		Means: "Alcoholic drinks as the subject.", Example: "Which whisky goes with a cigar?",
	},
	{
		ID: Tobacco, Name: "tobacco", Tier: Sensitive, Title: "Tobacco", GARM: garmDrugs,
		Means: "Tobacco, cigarettes and vaping.", Example: "Which vape has the longest battery life?",
	},
	{
		ID: Drugs, Name: "drugs", Tier: Sensitive, Title: "Drugs", GARM: garmDrugs,
		Means: "Recreational drugs, legal or not, without dealing asked for.", Example: "In which countries is cannabis legal?",
	},
}
