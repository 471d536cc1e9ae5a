"""Small closed word classes that the features look up; everything else is learned."""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Verbs and nouns of saying, thinking and knowing: their object clause is a unit of its own.
SPEECH = _set(
    "say says said saying tell tells told telling think thinks thought thinking believe believes believed believing "
    "know knows knew known knowing claim claims claimed claiming argue argues argued arguing report reports reported "
    "reporting suggest suggests suggested suggesting state states stated stating note notes noted noting show shows "
    "showed shown find finds found indicate indicates indicated announce announces announced add adds added explain "
    "explains explained hope hopes hoped feel feels felt mean means meant see sees saw seen hear hears heard realize "
    "realise realized realised assume assumes assumed conclude concludes concluded predict predicted deny denied "
    "denies admit admits admitted insist insisted warn warned agree agrees agreed reveal reveals revealed confirm "
    "confirms confirmed demonstrate demonstrates demonstrated propose proposes proposed hypothesize hypothesized "
    "estimate estimates estimated recall recalled recalls write writes wrote written understand understood guess "
    "expect expects expected suspect suspected wonder wondered ask asks asked decide decided according argue learn "
    "learned learnt remember remembered imply implies implied mention mentioned describe doubt fear feared"
)
CLASSES: dict[str, frozenset[str]] = {
    "additive": _set("and also additionally moreover furthermore besides too likewise similarly plus nor"),
    "contrast": _set("but however yet although though while whereas despite nevertheless nonetheless instead still "
                     "unlike conversely contrary rather except otherwise even regardless"),
    "cause": _set("because since so therefore thus hence due consequently accordingly as thereby result owing"),
    "time": _set("when after before while until once during since then later afterwards afterward subsequently "
                 "finally meanwhile eventually soon earlier whenever ago next now first second third last upon"),
    "condition": _set("if unless whether provided assuming suppose case"),
    "purpose": _set("to order for"),
    "example": _set("including such example instance like namely especially particularly specifically e.g. i.e."),
    "relative": _set("who whom whose which that where what why how"),
    "pronoun": _set("he she it they we i you him her them us me this these that those his its their our my your "
                    "himself herself itself themselves one ones"),
    "article": _set("the a an"),
    "be": _set("is are was were be been being am 's"),
    "aux": _set("has have had do does did will would can could may might shall should must"),
    "negation": _set("not no never none nothing without neither nor"),
    "judgement": _set("good bad great best worst better worse important interesting beautiful excellent popular "
                      "unfortunately fortunately clearly surprisingly perhaps probably certainly likely very really "
                      "quite worth nice easy difficult hard famous well should recommend"),
    "by": _set("by through via using with in"),
    "disjunction": _set("or either"),
    "question": _set("what why how who when where which do does did is are can could would"),
}  # fmt: skip
CLASS_NAMES = tuple(CLASSES)


def classes_of(word: str) -> list[int]:
    """Returns the numbers of the classes a lower-case word is in."""
    return [number for number, name in enumerate(CLASS_NAMES) if word in CLASSES[name]]
