/// How much a model may ask for.
///
/// A file made to do harm can take a few hundred times its size in memory once decoded (many empty
/// nodes), so a service that reads uploads should set `max_file_bytes` far below the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one decoded tensor.
    pub max_tensor_bytes: u64,
    /// Bytes of the model file itself, external data not counted.
    pub max_file_bytes: u64,
    /// Bytes of one written protobuf message; above it, [`Model::save`](crate::Model::save) moves
    /// weights to an external file. Protobuf readers refuse anything above the default.
    pub max_message_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_tensor_bytes: 8 << 30,
            max_file_bytes: 4 << 30,
            max_message_bytes: (2 << 30) - 1,
        }
    }
}
