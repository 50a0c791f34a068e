"""What each random draw of the bargaining game is for: the third part of its address (see `edgeworth.seeding`)."""

(
    COUNTS,
    UTILITIES,
    OPENER,
    PARTNER_CHOICE,
    PARTNER_ACT,
    PARTNER_SHARE,
    SUDDEN_END,
    AGENT_ACT,
    AGENT_SHARE,
    HINT,
) = range(10)
