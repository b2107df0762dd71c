use crate::Model;
use crate::proto::StringStringEntryProto;

impl Model {
    /// The value that the file's metadata have under a key; the first, if there are several.
    #[must_use]
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.proto.metadata_props.iter().find(|e| e.key == key).map(|e| e.value.as_str())
    }

    /// Sets the value of a key in the file's metadata, in place of any that is there.
    pub fn set_metadata(&mut self, key: &str, value: impl Into<String>) {
        let entries = &mut self.proto.metadata_props;
        let place = entries.iter().position(|e| e.key == key).unwrap_or(entries.len());
        entries.retain(|e| e.key != key);
        entries.insert(place, StringStringEntryProto { key: key.to_owned(), value: value.into() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::ModelProto;

    #[test]
    fn an_entry_is_found_and_replaced_where_it_is() {
        let mut model = Model::new(ModelProto::default());
        assert_eq!(model.metadata("a"), None);
        for (key, value) in [("a", "1"), ("b", "2"), ("a", "3")] {
            model.set_metadata(key, value);
        }
        assert_eq!((model.metadata("a"), model.metadata("b")), (Some("3"), Some("2")));
        let twice = model.proto.metadata_props.first().cloned();
        model.proto.metadata_props.extend(twice);
        model.set_metadata("a", "4");
        let keys: Vec<&str> = model.proto.metadata_props.iter().map(|e| e.key.as_str()).collect();
        assert_eq!((model.metadata("a"), &keys[..]), (Some("4"), &["a", "b"][..]));
    }
}
