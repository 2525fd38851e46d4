//! The header of an event, and the types of events.

/// What the source reads of the nineteen bytes before each event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Header {
    /// When, in seconds since 1970.
    pub(in super::super) seconds: u32,
    /// The type, as a number.
    pub(in super::super) raw: u8,
    /// The server that wrote it first.
    pub(in super::super) server: u32,
    /// The low 32 bits of the offset behind the event; 0 for events that are in no file.
    pub(in super::super) end: u32,
    pub(in super::super) flags: u16,
}

const ARTIFICIAL: u16 = 0x20;
const IGNORABLE: u16 = 0x80;

impl Header {
    /// The server made it up for this connection.
    pub(in super::super) fn is_artificial(self) -> bool {
        self.flags & ARTIFICIAL != 0
    }

    /// Who does not know the type may pass over it.
    pub(in super::super) fn is_ignorable(self) -> bool {
        self.flags & IGNORABLE != 0
    }
}

/// What to do with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Kind {
    FormatDescription,
    Rotate,
    /// A GTID of MariaDB.
    Gtid,
    /// A GTID of MySQL, with or without a number.
    GtidMysql,
    Query,
    QueryCompressed,
    Xid,
    XaPrepare,
    TableMap,
    Rows(RowsKind),
    Incident,
    Heartbeat,
    /// Changes inside are compressed (MySQL).
    Payload,
    /// It changes no row.
    Passed,
    /// A part of a rows event (MariaDB 12.3).
    PartialRows,
    /// A part of a JSON document (MySQL).
    PartialJson,
    /// A file of `LOAD DATA`, logged as a statement.
    Load,
    Unknown,
}

/// The form of a rows event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct RowsKind {
    pub(in super::super) action: Action,
    /// The post-header has a length and further fields.
    pub(in super::super) extended: bool,
    pub(in super::super) compressed: bool,
}

/// What a rows event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Action {
    Write,
    Update,
    Delete,
}

impl Kind {
    pub(in super::super) fn of(raw: u8) -> Self {
        let rows = |action, extended, compressed| Self::Rows(RowsKind { action, extended, compressed });
        match raw {
            2 => Self::Query,
            // STOP, INTVAR, RAND, USER_VAR: the statement they belong to is an event of its own. IGNORABLE, ROWS_QUERY, PREVIOUS_GTIDS,
            // TRANSACTION_CONTEXT, VIEW_CHANGE; MariaDB: ANNOTATE_ROWS, BINLOG_CHECKPOINT, GTID_LIST, START_ENCRYPTION.
            3 | 5 | 13 | 14 | 28 | 29 | 35 | 36 | 37 | 160 | 161 | 163 | 164 => Self::Passed,
            4 => Self::Rotate,
            15 => Self::FormatDescription,
            16 => Self::Xid,
            17 | 18 => Self::Load,
            19 => Self::TableMap,
            23 => rows(Action::Write, false, false),
            24 => rows(Action::Update, false, false),
            25 => rows(Action::Delete, false, false),
            26 => Self::Incident,
            27 | 41 => Self::Heartbeat,
            30 => rows(Action::Write, true, false),
            31 => rows(Action::Update, true, false),
            32 => rows(Action::Delete, true, false),
            33 | 34 | 42 => Self::GtidMysql,
            38 => Self::XaPrepare,
            39 => Self::PartialJson,
            40 => Self::Payload,
            162 => Self::Gtid,
            165 => Self::QueryCompressed,
            166 => rows(Action::Write, false, true),
            167 => rows(Action::Update, false, true),
            168 => rows(Action::Delete, false, true),
            169 => rows(Action::Write, true, true),
            170 => rows(Action::Update, true, true),
            171 => rows(Action::Delete, true, true),
            172 => Self::PartialRows,
            _ => Self::Unknown,
        }
    }
}
