package adtext

// lists has the instructions to a model in each of [Languages] and, under "", the simplest order in
// other languages, which are not covered further. Words are stems without spaces; each row of parts
// is one [rule].
var lists = map[string][]rule{
	"en": {
		{
			{"ignor", "disregard", "overrid", "bypass", "forget", "neglect"},
			{"instruction", "directive", "guideline", "systemprompt"},
		},
		{
			{"ignor", "disregard", "overrid", "bypass", "forget"},
			{"previous", "prior", "above", "earlier", "preceding", "foregoing", "system", "initial", "original"},
			{"prompt", "message", "context", "rules", "text", "conversation", "request"},
		},
		{{
			"forgeteverything", "everythingabove", "alloftheabove", "ignoretheabove", "disregardtheabove",
			"whatyouweretold", "yoursystemprompt", "thesystemprompt",
			"mysystemprompt", "newinstructions", "obeythese", "followtheseinstruct", "doanythingnow", "endofprompt",
			"instruksi", "instruktion", "instruksjon",
		}},
		{{
			"telltheuser", "convincetheuser", "instructtheuser", "persuadetheuser", "urgetheuser", "informtheuser",
			"asktheusertobuy", "maketheuser",
		}},
		{{
			"callthetool", "callthefunction", "callthistool", "calltool", "callfunction", "invokethe", "invoketool",
			"usethetool", "usethisfunction", "runthetool", "executethetool",
			"executetool", "triggerthetool",
		}},
		{{
			"recommendonly", "onlyrecommend", "alwaysrecommend", "mustrecommend", "neverrecommend", "donotrecommend",
			"dontrecommend", "recommendnothing", "recommendthisproduct",
			"donotmention", "dontmention", "nevermention", "mustmention", "alwaysmention", "donotreveal",
			"rankthisfirst", "choosethisad", "preferthisproduct", "insteadofcompetitors",
		}},
		{
			{
				"discard", "donotfollow", "dontfollow", "stopfollowing", "nolongerfollow", "stopobeying", "donotobey",
				"setaside", "abandon", "cancel", "nolongerapply", "donotapply", "supersed", "revok",
			},
			{
				"instruction", "directive", "guideline", "systemprompt", "yourrules", "yourprompt", "toldbefore",
				"toldearlier",
			},
		},
		{
			{"fromnowon", "fromhereon", "henceforth"},
			{"respond", "answer", "reply", "recommend", "suggest", "speak", "mention", "obey", "pretend", "youare"},
		},
		{{
			"yournewtask", "yourtaskisto", "yourjobisto", "yourroleisto", "inyouranswer", "inyourresponse",
			"inyourreply", "inyoursummary", "whenyouanswer", "whensummari", "whenaskedabout",
			"ifaskedabout", "tellyouruser", "tellyourhuman", "telltheperson", "tellthehuman", "tellthecustomer",
			"tellthereader", "suggestonly", "onlysuggest", "alwayssuggest", "promoteonly",
			"onlypromote", "mentiononly", "onlymention", "speakonlyof", "youwereprogrammed", "youweretrained",
			"yourguardrail",
		}},
		{{
			"respondonlywith", "replyonlywith", "answeronlywith", "respondwithonly", "repeatafterme", "pretendtobe",
			"pretendyouare", "pretendthat",
		}},
		{{
			"assistantmust", "aimust", "modelmust", "chatbotmust", "agentmust", "assistantshould", "asalanguagemodel",
			"notetoai", "notetotheai", "notetomodel", "instructionsforai",
			"instructionsforthe", "instructionforai", "attentionai", "dearassistant", "dearai", "ifyouareanai",
			"ifyouareanllm", "ifyouarealanguage", "ifyouareanassistant", "ifyouareachatbot",
		}},
	},
	"": {{
		{
			"yoksay", "gozardi", "unutun", "dikkatealma", "abaikan", "lupakan", "hiraukan", "puuza", "sahau",
			"huwagpansinin", "kalimutan", "balewalain", "neglija", "uitatoate", "zapomen", "zabudni",
			"prehliadn", "figyelmenkivul", "felejtsd", "mellozd", "ignorer", "ignoreer", "bortse", "serbort", "ohita",
			"unohda", "sivuuta", "huomiotta", "zanemari", "zaboravi", "oblida", "bhooljao",
			"bhuljao", "andekha", "nazarandaz", "boqua", "photlo", "hulue", "wushi", "wangji", "mushishi", "wasurete",
			"zabud", "agnois", "neglege", "obliviscere", "ignoru", "forgesu", "anwybyddu",
			"занемари", "заборави", "забрави", "пренебрегни", "ігнору",
		},
		{
			"talimat", "komutlar", "yonerge", "instruksi", "perintah", "petunjuk", "arahan", "maagizo", "maelekezo",
			"tagubilin", "panuto", "instruksyon", "lahatngutos", "instructiun", "comenzi",
			"pokyn", "instrukc", "prikaz", "utasitas", "parancs", "instruktion", "anvisning", "instruks", "ohjee",
			"ohjei", "kasky", "uputstv", "naredb", "instruccion", "nirdesh", "hidayat",
			"huongdan", "chidan", "menhlenh", "zhiling", "zhishi", "shiji", "meirei", "instrukts", "ukazani", "odigies",
			"mandata", "praecepta", "opdrag", "cyfarwyddiad", "упутств", "инструкц",
			"указани", "наредб", "інструкц",
		},
	}},
	"de": {
		{
			{
				"ignorier", "missacht", "vergiss", "vergesst", "vergessen", "übergeh", "uebergeh", "verwirf",
				"beachtenicht", "überschreib", "umgehe",
			},
			{"anweisung", "instruktion", "vorgabe", "systemprompt", "befehl", "richtlinie", "anordnung"},
		},
		{
			{"ignorier", "vergiss", "vergesst", "missacht"},
			{"vorherig", "bisherig", "obig", "früher", "vorangegang", "alles"},
			{"prompt", "nachricht", "text", "kontext", "regel", "gesagt"},
		},
		{{
			"sagdemnutzer", "sagedemnutzer", "sagdembenutzer", "sagensiedem", "sagdenmenschen", "überzeugedennutzer",
			"überzeugedenbenutzer", "empfiehlnur", "empfehlenur", "empfiehlausschlie",
			"empfiehlimmer", "empfehleimmer", "empfehlensienur", "empfehlensieausschlie", "nurdiesesproduktempfehlen",
			"rufdaswerkzeug", "rufedaswerkzeug", "rufdastool", "rufedastool", "rufdiefunktion",
			"neueanweisung", "dubistjetztein", "dubistnunein", "siesindjetztein", "antwortenurmit", "tuso,alsob",
		}},
	},
	"fr": {
		{
			{
				"ignor", "oubli", "néglige", "outrepass", "contourn", "netienspascompte", "netenezpascompte",
				"faisabstraction", "faitesabstraction",
			}, {"instruction", "consigne", "directive", "promptsystème", "invitesystème"},
		},
		{
			{"ignor", "oubli"}, {"précédent", "ci-dessus", "antérieur", "toutcequi"},
			{"message", "texte", "contexte", "prompt", "règle", "ordre"},
		},
		{{
			"recommandeuniquement", "recommandezuniquement", "recommandeseulement", "recommandezseulement",
			"nerecommandeque", "nerecommandezque", "recommandetoujours", "recommandeztoujours",
			"disàlutilisateur", "ditesàlutilisateur", "convaincslutilisateur", "convainquezlutilisateur",
			"appelleloutil", "appelezloutil", "utiliseloutil", "appellelafonction", "nouvellesinstruction",
			"tuesmaintenantun", "vousêtesmaintenantun", "répondsuniquementpar", "faissemblant",
		}},
	},
	"es": {
		{
			{
				"ignor", "olvid", "descart", "desatiend", "casoomiso", "omite", "omitan", "pasaporalto",
				"notengasencuenta",
			}, {"instruccion", "indicacion", "directri", "órdenes", "consigna", "promptdelsistema"},
		},
		{
			{"ignor", "olvid"}, {"anterior", "previ", "dearriba", "todolo"},
			{"mensaje", "texto", "contexto", "prompt", "regla", "dicho"},
		},
		{{
			"recomiendasolo", "recomiendesolo", "solorecomienda", "recomiendaúnicamente", "recomiendasiempre",
			"recomiendesiempre", "siemprerecomienda", "dilealusuario", "dígalealusuario", "dialusuario",
			"convencealusuario", "llamaalaherramienta", "usalaherramienta", "invocalaherramienta", "llamaalafunción",
			"nuevasinstruccion", "ahoraeresun", "respondesolocon", "finjeque", "fingeque",
		}},
	},
	"pt": {
		{
			{"ignor", "esqueç", "esquec", "desconsider", "desprez", "nãoconsidere"},
			{"instruç", "orientaç", "diretriz", "comando", "promptdosistema"},
		},
		{
			{"ignor", "esqueç"}, {"anterior", "prévi", "acima", "tudoo"},
			{"mensage", "texto", "contexto", "prompt", "regra", "dito"},
		},
		{{
			"recomendeapenas", "recomendesomente", "recomendesó", "recomendaapenas", "recomendesempre",
			"semprerecomende", "digaaousuário", "digaaoutilizador", "convençaousuário", "chameaferramenta",
			"useaferramenta", "chameafunção", "novasinstruç", "vocêagoraéum", "agoravocêéum", "respondaapenascom",
			"finjaque",
		}},
	},
	"it": {
		{
			{"ignor", "dimentic", "trascur", "tralasci", "scorda", "nontenereconto"},
			{"istruzion", "direttiv", "comandi", "indicazioni", "promptdisistema"},
		},
		{
			{"ignor", "dimentic"}, {"precedent", "disopra", "soprastant", "tuttociò"},
			{"messagg", "testo", "contest", "prompt", "regol"},
		},
		{{
			"raccomandasolo", "raccomandasoltanto", "consigliasolo", "consigliasoltanto", "raccomandasempre",
			"consigliasempre", "suggerisciesclusiv", "diallutente", "dìallutente", "convincilutente",
			"chiamalostrumento", "usalostrumento", "chiamalafunzione", "nuoveistruzioni", "oraseiun", "rispondisolocon",
			"fingidi",
		}},
	},
	"nl": {
		{
			{"negeer", "negeren", "vergeet", "vergeten", "omzeil", "verwaarloos"},
			{"instructie", "aanwijzing", "opdracht", "richtlijn", "systeemprompt"},
		},
		{
			{"negeer", "vergeet"}, {"vorige", "eerdere", "bovenstaande", "voorgaande"},
			{"prompt", "bericht", "tekst", "context", "regels"},
		},
		{{
			"raadalleen", "beveelalleen", "raaduitsluitend", "beveeluitsluitend", "beveelaltijd", "raadaltijd",
			"zegtegendegebruiker", "verteldegebruiker", "overtuigdegebruiker", "roepdetool",
			"gebruikdetool", "roephethulpmiddel", "nieuweinstructies", "jebentnueen", "antwoordalleenmet", "doealsof",
		}},
	},
	"pl": {
		{
			{"ignoruj", "zapomnij", "pomiń", "pomijaj", "zlekceważ", "lekceważ", "nieuwzględniaj"},
			{"instrukcj", "poleceni", "poleceń", "wytyczn", "wskazówk", "promptsystemow"},
		},
		{
			{"ignoruj", "zapomnij"}, {"poprzedni", "wcześniejsz", "powyższ", "wszystko"},
			{"wiadomoś", "tekst", "kontekst", "prompt", "zasad", "reguł"},
		},
		{{
			"polecajtylko", "polecajwyłącznie", "rekomendujtylko", "rekomendujwyłącznie", "zawszepolecaj",
			"powiedzużytkownik", "przekonajużytkownik", "wywołajnarzędzie", "użyjnarzędzia", "wywołajfunkcj",
			"noweinstrukcje", "jesteśteraz", "odpowiadajtylko", "udawaj,że",
		}},
	},
	"ru": {
		{
			{"игнорир", "забуд", "пренебре", "отбрось", "неучитывай", "обойди", "отмени"},
			{"инструкци", "указани", "предписани", "команд", "директив", "системныйпромпт", "системногопромпт"},
		},
		{
			{"игнорир", "забуд"}, {"предыдущ", "вышеска", "вышеизл", "прежн", "ранее", "всё", "все"},
			{"сообщени", "текст", "контекст", "промпт", "правил", "сказан"},
		},
		{{
			"рекомендуйтолько", "рекомендуйтетолько", "советуйтолько", "советуйтетолько", "всегдарекомендуй",
			"скажипользовател", "скажитепользовател", "убедипользовател", "вызовиинструмент",
			"вызовитеинструмент", "используйинструмент", "вызовифункци", "новыеинструкц", "тытеперь", "вытеперь",
			"отвечайтолько", "притворись",
		}},
	},
	"zh": {
		{
			{"忽略", "无视", "無視", "忘记", "忘記", "不要理会", "不理会", "忽视", "忽視", "跳过", "跳過", "绕过", "繞過", "覆盖", "覆蓋", "抛开"},
			{"指令", "指示", "提示词", "提示詞", "系统提示", "系統提示", "命令", "规则", "規則"},
		},
		{
			{"忽略", "无视", "無視", "忘记", "忘記"}, {"之前", "以前", "以上", "上述", "先前", "前面", "所有"},
			{"内容", "內容", "消息", "訊息", "对话", "對話", "文本", "提示"},
		},
		{{
			"只推荐", "只推薦", "仅推荐", "僅推薦", "必须推荐", "必須推薦", "总是推荐", "告诉用户", "告訴用戶", "告诉使用者", "告訴使用者", "说服用户", "說服用戶",
			"调用工具", "調用工具", "呼叫工具", "执行工具", "调用函数",
			"新的指令", "新指令", "你现在是", "你現在是", "假装你是", "請只回答", "请只回答",
		}},
	},
	"ja": {
		{{"無視", "忘れ", "従わな", "破棄", "上書き"}, {"指示", "命令", "指図", "プロンプト", "指令", "ガイドライン"}},
		{{"無視", "忘れ"}, {"これまで", "以前", "上記", "前の", "今まで"}, {"会話", "内容", "メッセージ", "文章", "ルール", "規則"}},
		{{
			"のみを推薦", "だけを推薦", "のみ推薦", "だけ推薦", "だけを勧め", "のみを勧め", "だけをおすすめ", "のみをおすすめ", "だけをお勧め", "のみをお勧め", "ユーザーに伝え",
			"ユーザに伝え", "ユーザーに言", "ツールを呼び出",
			"ツールを実行", "関数を呼び出", "新しい指示", "あなたは今から", "あなたは今", "ふりをし",
		}},
	},
	"ko": {
		{{"무시", "잊어", "잊으", "따르지", "우회"}, {"지시", "명령", "지침", "프롬프트"}},
		{{"무시", "잊어", "잊으"}, {"이전", "위의", "앞의", "지금까지"}, {"대화", "내용", "메시지", "규칙", "문맥"}},
		{{
			"만추천", "만을추천", "항상추천", "사용자에게말", "사용자에게알", "사용자를설득", "도구를호출", "툴을호출", "도구를실행", "함수를호출", "새로운지시", "새지시",
			"너는이제", "당신은이제", "인척", "척해",
		}},
	},
}
