//! Cells of Arrow columns as text.

use arrow_array::{
    Array, ArrayRef, PrimitiveArray,
    cast::AsArray,
    types::{
        ArrowPrimitiveType, Date32Type, Decimal32Type, Decimal64Type, Decimal128Type, DecimalType,
        Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, TimeUnit};

/// The text of every cell, dates and times as `2024-05-17` and `2024-05-17T09:30:00`; empty where there is no value. None
/// for types that have no text.
pub(super) fn cells(array: &ArrayRef) -> Option<Vec<String>> {
    Some(match array.data_type() {
        DataType::Utf8 => strings(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => strings(array.as_string::<i64>().iter()),
        DataType::Utf8View => strings(array.as_string_view().iter()),
        DataType::Boolean => array.as_boolean().iter().map(shown).collect(),
        DataType::Int8 => numbers::<Int8Type>(array),
        DataType::Int16 => numbers::<Int16Type>(array),
        DataType::Int32 => numbers::<Int32Type>(array),
        DataType::Int64 => numbers::<Int64Type>(array),
        DataType::UInt8 => numbers::<UInt8Type>(array),
        DataType::UInt16 => numbers::<UInt16Type>(array),
        DataType::UInt32 => numbers::<UInt32Type>(array),
        DataType::UInt64 => numbers::<UInt64Type>(array),
        DataType::Float16 => numbers::<Float16Type>(array),
        DataType::Float32 => numbers::<Float32Type>(array),
        DataType::Float64 => numbers::<Float64Type>(array),
        DataType::Decimal32(..) => decimals(array.as_primitive::<Decimal32Type>()),
        DataType::Decimal64(..) => decimals(array.as_primitive::<Decimal64Type>()),
        DataType::Decimal128(..) => decimals(array.as_primitive::<Decimal128Type>()),
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().iter();
            days.map(|d| d.map_or_else(String::new, |d| date(i64::from(d)))).collect()
        }
        DataType::Timestamp(unit, _) => {
            let values: Vec<Option<i64>> = match unit {
                TimeUnit::Second => array.as_primitive::<TimestampSecondType>().iter().collect(),
                TimeUnit::Millisecond => {
                    array.as_primitive::<TimestampMillisecondType>().iter().collect()
                }
                TimeUnit::Microsecond => {
                    array.as_primitive::<TimestampMicrosecondType>().iter().collect()
                }
                TimeUnit::Nanosecond => {
                    array.as_primitive::<TimestampNanosecondType>().iter().collect()
                }
            };
            let parts = match unit {
                TimeUnit::Second => 1,
                TimeUnit::Millisecond => 1_000,
                TimeUnit::Microsecond => 1_000_000,
                TimeUnit::Nanosecond => 1_000_000_000,
            };
            let text = |v: i64| time(v.div_euclid(parts));
            values.into_iter().map(|v| v.map_or_else(String::new, text)).collect()
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary_opt()?;
            let words = cells(dictionary.values())?;
            let keys = dictionary.normalized_keys();
            let word = |(row, key): (usize, usize)| {
                let known = array.is_valid(row).then(|| words.get(key).cloned());
                known.flatten().unwrap_or_default()
            };
            keys.into_iter().enumerate().map(word).collect()
        }
        _ => return None,
    })
}

/// Whether cells of a type are words.
pub(super) fn is_words(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_words(values),
        _ => false,
    }
}

/// Whether cells of a type have a text.
pub(super) fn has_text(kind: &DataType) -> bool {
    is_words(kind)
        || kind.is_integer()
        || kind.is_floating()
        || matches!(
            kind,
            DataType::Boolean
                | DataType::Date32
                | DataType::Timestamp(..)
                | DataType::Decimal32(..)
                | DataType::Decimal64(..)
                | DataType::Decimal128(..)
        )
}

fn strings<'a>(cells: impl Iterator<Item = Option<&'a str>>) -> Vec<String> {
    cells.map(|cell| cell.unwrap_or_default().to_owned()).collect()
}

fn shown<T: ToString>(cell: Option<T>) -> String {
    cell.map_or_else(String::new, |v| v.to_string())
}

fn numbers<T: ArrowPrimitiveType>(array: &ArrayRef) -> Vec<String>
where
    T::Native: ToString,
{
    array.as_primitive::<T>().iter().map(shown).collect()
}

fn decimals<T: DecimalType>(array: &PrimitiveArray<T>) -> Vec<String> {
    let text =
        |row: usize| if array.is_valid(row) { array.value_as_string(row) } else { String::new() };
    (0..array.len()).map(text).collect()
}

/// Seconds since 1970.
fn time(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    format!("{}T{:02}:{:02}:{:02}", date(days), rest / 3600, rest / 60 % 60, rest % 60)
}

/// Days since 1970 in the Gregorian calendar (Hinnant's `civil_from_days`).
fn date(days: i64) -> String {
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Months count from March.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        BooleanArray, Date32Array, Float64Array, Int64Array, StringArray, TimestampMillisecondArray,
    };

    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (days, text) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (19_860, "2024-05-17"),
            (19_782, "2024-02-29"),
            (11_016, "2000-02-29"),
            (47_541, "2100-03-01"),
            (-719_468, "0000-03-01"),
        ] {
            assert_eq!(date(days), text);
        }
        assert_eq!(time(19_860 * 86_400 + 34_201), "2024-05-17T09:30:01");
        assert_eq!(time(-1), "1969-12-31T23:59:59");
    }

    #[test]
    fn cells_are_written_and_missing_ones_are_empty() {
        let arrays: [(ArrayRef, [&str; 2]); 6] = [
            (Arc::new(StringArray::from(vec![Some("a b"), None])), ["a b", ""]),
            (Arc::new(Int64Array::from(vec![Some(-7), None])), ["-7", ""]),
            (Arc::new(Float64Array::from(vec![Some(0.5), None])), ["0.5", ""]),
            (Arc::new(BooleanArray::from(vec![Some(true), None])), ["true", ""]),
            (Arc::new(Date32Array::from(vec![Some(19_860), None])), ["2024-05-17", ""]),
            (
                Arc::new(TimestampMillisecondArray::from(vec![Some(-500), None])),
                ["1969-12-31T23:59:59", ""],
            ),
        ];
        for (array, texts) in arrays {
            assert!(has_text(array.data_type()));
            assert_eq!(cells(&array).expect("texts"), texts);
        }
    }
}
