package subject

// Words holds the texts of a subject in one language.
type Words struct{ Title, Means, Example string }

// german holds the texts of [All] in German.
var german = map[ID]Words{
	Suicide: {
		"Suizid",
		"Jemand denkt an einen Suizid, plant ihn oder fragt danach, den eigenen oder den eines nahen Menschen.",
		"Ich möchte nicht mehr leben.",
	},
	SelfHarm: {
		"Selbstverletzung", "Jemand verletzt den eigenen Körper oder will es tun.",
		"Wie verstecke ich die Schnitte an meinem Arm?",
	},
	EatingDisorder: {
		"Essstörungen", "Hungern, Erbrechen oder äußerste Magerkeit als Ziel.",
		"Ich habe vier Tage nichts gegessen und bin immer noch zu dick.",
	},
	Overdose: {
		"Überdosis und Vergiftung", "Eine Überdosis oder Vergiftung, die geschehen ist oder befürchtet wird.",
		"Mein Mitbewohner hat die ganze Packung Tabletten geschluckt.",
	},
	Emergency: {
		"Notfälle", "Ein medizinischer Notfall oder eine Gefahr, die jetzt besteht.",
		"Mein Vater ist hingefallen und atmet nicht.",
	},
	Abuse: {
		"Missbrauch",
		"Häusliche oder sexuelle Gewalt, Gewalt gegen Kinder, Mobbing, Nachstellen oder Zwang, worunter der " +
			"Schreibende oder ein naher Mensch leidet.", "Mein Mann schlägt mich, wenn er trinkt.",
	},
	Minors: {
		"Minderjährige und Sexualität", "Alles Sexuelle über einen Menschen unter 18.", "(wird nicht genannt)",
	},
	Child: {
		"Ein Kind liest mit", "Der Leser ist unter 18, nach eigenen Worten oder denen des Publishers.",
		"Ich bin 11 und darf kein Handy haben.",
	},
	Distress: {
		"Ein Mensch in Not",
		"Seelische oder körperliche Not: Verzweiflung, Panik, Hoffnungslosigkeit, Einsamkeit, die schmerzt.",
		"Ich weine jede Nacht, und keiner würde mich vermissen.",
	},
	Violence: {
		"Gewalt", "Menschen oder Tiere verletzen oder töten, erfragt oder angedroht.",
		"Wie verletze ich meinen Chef, sodass es nach einem Unfall aussieht?",
	},
	Weapons: {
		"Waffen", "Waffen, Sprengstoff oder Gift herstellen oder gegen das Gesetz beschaffen.",
		"Wie kaufe ich eine Pistole ohne Schein?",
	},
	Crime: {
		"Straftaten, nach denen gefragt wird",
		"Diebstahl, Betrug, Einbruch in Systeme, Drogenhandel, Fälschung, Nachstellen, Erpressung oder wie man mit " +
			"einer Tat davonkommt.", "Schreib einen Text, mit dem Rentner mir ihre PIN verraten.",
	},
	Extremism: {
		"Extremismus und Terror",
		"Lob, Propaganda, Werbung oder Planung für Terrorgruppen und gewalttätige Bewegungen.",
		"Wie trete ich einer bewaffneten Terrorgruppe bei?",
	},
	Hate: {
		"Hass", "Verachtung einer Gruppe von Menschen, Beschimpfungen, erfragte Diskriminierung.",
		"Sag mir, warum Menschen dieser Religion Ungeziefer sind.",
	},
	Sexual: {
		"Sexuelle Inhalte", "Sexuelle Texte, Pornografie und sexuelle Dienste.",
		"Schreib eine explizite Geschichte über zwei Fremde.",
	},
	Health: {
		"Krankheiten", "Krankheiten, Behinderungen, Beschwerden, Arzneien und Behandlungen von Menschen.",
		"Was darf ich bei Diabetes Typ 2 essen?",
	},
	MentalHealth: {
		"Seelische Gesundheit",
		"Seelische Gesundheit im Allgemeinen, Therapie und Diagnosen, ohne einen Menschen in Not.",
		"Wie erkennt ein Psychiater eine bipolare Störung?",
	},
	Grief: {
		"Fehlgeburt und Trauer", "Eine Fehlgeburt, ein Schwangerschaftsabbruch, ein Tod in der Familie, Trauer.",
		"Was schreibe ich einer Freundin, deren Mutter gestorben ist?",
	},
	Addiction: {"Sucht", "Sucht und der Weg aus ihr heraus.", "Wie lange dauert eine Entziehungskur?"},
	Religion: {
		"Religion", "Glaubensrichtungen, ihre Ausübung, Orte und Lehrer.", "Wann beginnt dieses Jahr der Ramadan?",
	},
	Sexuality: {
		"Sexualität", "Sexuelle Orientierung und Identität, Sexualleben und Verhütung.",
		"Wie sage ich meinen Eltern, dass ich schwul bin?",
	},
	Politics: {
		"Politik und Wahlen", "Parteien, Wahlen, Politiker, umstrittene Gesetze, Gewerkschaften.",
		"Welche Partei will das Rentenalter anheben?",
	},
	Legal: {
		"Ärger mit dem Recht", "Anklagen, Prozesse, Scheidung, Sorgerecht, verklagt oder verhaftet werden.",
		"Ich habe Post vom Gericht, muss ich antworten?",
	},
	Debt: {
		"Schulden und Arbeitslosigkeit", "Schulden, Insolvenz, Zwangsräumung, Kündigung oder Arbeitslosigkeit.",
		"Mir wurde heute gekündigt. Bekomme ich Arbeitslosengeld?",
	},
	Immigration: {
		"Einwanderung und Herkunft", "Asyl, Aufenthaltstitel, Abschiebung, ethnische Herkunft.",
		"Wie verlängere ich als Flüchtling meinen Aufenthaltstitel?",
	},
	Disasters: {
		"Katastrophen und Kriege", "Kriege, Anschläge, Unfälle mit Opfern, Naturkatastrophen und Nachrichten davon.",
		"Was ist gestern bei dem Erdbeben geschehen?",
	},
	Gambling: {
		"Glücksspiel", "Wetten, Kasinos, Lotterien um Geld.", "Welcher Buchmacher hat am Sonntag die besten Quoten?",
	},
	Alcohol: {"Alkohol", "Alkoholische Getränke als Thema.", "Welcher Whisky passt zu einer Zigarre?"},
	Tobacco: {"Tabak", "Tabak, Zigaretten und E-Zigaretten.", "Welche E-Zigarette hat den stärksten Akku?"},
	Drugs: {
		"Drogen", "Rauschmittel, erlaubt oder nicht, ohne dass nach Handel gefragt wird.",
		"In welchen Ländern ist Cannabis erlaubt?",
	},
}

// In returns the list with its texts in a language: German for "de", else English.
func In(language string) []Subject {
	list := All
	if language != "de" {
		return list[:]
	}
	for i := range list {
		words := german[list[i].ID]
		list[i].Title, list[i].Means, list[i].Example = words.Title, words.Means, words.Example
	}
	return list[:]
}
