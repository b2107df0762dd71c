use std::fs;
use std::path::Path;

use taste_onnx::proto::TensorProto;
use taste_onnx::{ElemType, Error, Limits, Model, TensorData, Values};
use tempfile::TempDir;

use crate::{external_tensor, message, small_model, tensor_of};

/// A folder with `weights`: 8 bytes of something else, then the floats 1, 2, 3.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = vec![0xaa; 8];
    bytes.extend([1.0_f32, 2.0, 3.0].iter().flat_map(|v| v.to_le_bytes()));
    fs::write(folder.path().join("weights"), bytes).unwrap();
    folder
}

fn decode_in(folder: &Path, tensor: &TensorProto) -> Result<TensorData, Error> {
    Model::new(small_model()).with_folder(folder).tensor(tensor)
}

fn refusal(entries: &[(&str, &str)]) -> String {
    message(decode_in(folder().path(), &external_tensor(&[3], entries)))
}

#[test]
fn the_stated_part_of_a_file_is_read() {
    let part = [("location", "weights"), ("offset", "8"), ("length", "12")];
    let data = decode_in(folder().path(), &external_tensor(&[3], &part)).unwrap();
    assert_eq!(data.values, Values::F32(vec![1.0, 2.0, 3.0]));
}

#[test]
fn without_a_length_the_shape_says_how_much_is_read() {
    let part = [("location", "./weights"), ("offset", "12")];
    let data = decode_in(folder().path(), &external_tensor(&[1], &part)).unwrap();
    assert_eq!(data.values, Values::F32(vec![2.0]));
}

#[test]
fn a_model_file_finds_its_data_beside_it() {
    let folder = folder();
    let mut proto = small_model();
    let part = [("location", "weights"), ("offset", "8")];
    proto.graph.as_mut().unwrap().initializer = vec![external_tensor(&[3], &part)];
    let path = folder.path().join("model.onnx");
    fs::write(&path, Model::new(proto).to_bytes().unwrap()).unwrap();

    let model = Model::open(&path).unwrap();
    let tensor = &model.proto.graph.as_ref().unwrap().initializer[0];
    assert_eq!(model.tensor(tensor).unwrap().values, Values::F32(vec![1.0, 2.0, 3.0]));

    let in_memory = Model::from_bytes(&fs::read(&path).unwrap(), Some(folder.path())).unwrap();
    assert!(in_memory.tensor(tensor).is_ok());
}

#[test]
fn without_a_folder_external_data_is_refused() {
    let model = Model::new(small_model());
    let result = model.tensor(&external_tensor(&[3], &[("location", "weights")]));
    let expected = "model in memory: tensor \"w\" keeps its data in \"weights\", \
                    but the model was read from memory, without a folder";
    assert_eq!(message(result), expected);
}

#[test]
fn locations_outside_the_folder_are_refused() {
    assert!(refusal(&[("location", "/etc/passwd")]).contains("not relative"));
    assert!(refusal(&[("location", "../weights")]).contains("leaves the model's folder"));
    assert!(refusal(&[("location", "a/../../weights")]).contains("leaves the model's folder"));
}

#[test]
fn locations_that_name_no_file_are_refused() {
    assert!(refusal(&[]).contains("names no file"));
    assert!(refusal(&[("location", "")]).contains("names no file"));
    assert!(refusal(&[("location", ".")]).contains("not a file"));
    assert!(refusal(&[("location", "missing")]).contains("cannot be read"));
    assert!(refusal(&[("location", "weights\0")]).contains("NUL"));
}

#[cfg(unix)]
#[test]
fn links_may_stay_in_the_folder_but_not_leave_it() {
    use std::os::unix::fs::symlink;
    let (folder, elsewhere) = (folder(), self::folder());
    symlink("weights", folder.path().join("near")).unwrap();
    symlink(elsewhere.path().join("weights"), folder.path().join("far")).unwrap();
    symlink(elsewhere.path(), folder.path().join("far_folder")).unwrap();

    let at = |location| {
        let tensor = external_tensor(&[3], &[("location", location), ("offset", "8")]);
        decode_in(folder.path(), &tensor)
    };
    assert_eq!(at("near").unwrap().values, Values::F32(vec![1.0, 2.0, 3.0]));
    assert!(message(at("far")).contains("link that leaves"));
    assert!(message(at("far_folder/weights")).contains("link that leaves"));
}

#[test]
fn parts_beyond_the_end_of_the_file_are_refused() {
    let reach = refusal(&[("location", "weights"), ("offset", "9")]);
    assert!(reach.contains("12 bytes from offset 9 on reach beyond its 20 bytes"), "{reach}");
    let max = u64::MAX.to_string();
    assert!(refusal(&[("location", "weights"), ("offset", &max)]).contains("reach beyond"));
}

#[test]
fn a_length_that_disagrees_with_the_shape_is_refused() {
    let wrong = refusal(&[("location", "weights"), ("length", "16")]);
    assert!(wrong.ends_with("of shape [3] needs 12 bytes but holds 16"), "{wrong}");
}

#[test]
fn offsets_that_are_no_numbers_are_refused() {
    for offset in ["-8", "eight", "0x8", "", "99999999999999999999999"] {
        let refused = refusal(&[("location", "weights"), ("offset", offset)]);
        assert!(refused.contains("is not a number of bytes"), "{refused}");
    }
}

#[test]
fn a_location_stated_twice_is_refused() {
    assert!(refusal(&[("location", "weights"), ("location", "other")]).contains("twice"));
}

#[test]
fn external_strings_are_refused() {
    let external = external_tensor(&[1], &[("location", "weights")]);
    let strings = TensorProto { data_type: ElemType::String.code(), ..external };
    assert!(message(decode_in(folder().path(), &strings)).contains("strings cannot be external"));
}

#[test]
fn a_sparse_file_above_the_limit_is_refused_unread() {
    let folder = folder();
    let file = fs::File::create(folder.path().join("huge")).unwrap();
    file.set_len(1 << 40).unwrap();
    let tensor = external_tensor(&[1 << 38], &[("location", "huge")]);
    assert!(message(decode_in(folder.path(), &tensor)).contains("larger than the limit"));
}

#[test]
fn the_limit_on_tensors_can_be_lowered() {
    let limits = Limits { max_tensor_bytes: 11, ..Limits::default() };
    let model = Model::new(small_model()).with_folder(folder().path()).with_limits(limits);
    assert_eq!(model.limits(), limits);
    let tensor = external_tensor(&[3], &[("location", "weights")]);
    assert!(message(model.tensor(&tensor)).contains("larger than the limit of 11 bytes"));
    assert!(model.tensor(&tensor_of(ElemType::F32, &[0])).is_ok());
}
