//! A serializer that rejects NaN and infinite floats. `serde_json` writes them as `null`, which cannot be read back as a float, and is
//! read as an absent value where the value is optional.

use evenkeel_link::support::guard;
use serde::ser::{
    Error, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
    SerializeTupleVariant,
};
use serde::{Serialize, Serializer};
use std::fmt::Display;

/// A value whose floats are checked during serialization.
pub(crate) struct Finite<'a, V: ?Sized>(pub(crate) &'a V);

/// A serializer, or the serializer of a compound value.
struct Checking<S>(S);

impl<V: Serialize + ?Sized> Serialize for Finite<'_, V> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Checking(to))
    }
}

fn check<E: Error>(is_finite: bool) -> Result<(), E> {
    if is_finite || !guard("json_floats_finite") {
        return Ok(());
    }
    Err(E::custom("a float is NaN or infinite, which JSON cannot represent; MessagePack can"))
}

macro_rules! as_they_are {
    ($($method:ident($($name:ident: $kind:ty),*);)+) => {$(
        fn $method(self, $($name: $kind),*) -> Result<S::Ok, S::Error> {
            self.0.$method($($name),*)
        }
    )+};
}

impl<S: Serializer> Serializer for Checking<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Checking<S::SerializeSeq>;
    type SerializeTuple = Checking<S::SerializeTuple>;
    type SerializeTupleStruct = Checking<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Checking<S::SerializeTupleVariant>;
    type SerializeMap = Checking<S::SerializeMap>;
    type SerializeStruct = Checking<S::SerializeStruct>;
    type SerializeStructVariant = Checking<S::SerializeStructVariant>;

    as_they_are! {
        serialize_bool(value: bool);
        serialize_i8(value: i8);
        serialize_i16(value: i16);
        serialize_i32(value: i32);
        serialize_i64(value: i64);
        serialize_i128(value: i128);
        serialize_u8(value: u8);
        serialize_u16(value: u16);
        serialize_u32(value: u32);
        serialize_u64(value: u64);
        serialize_u128(value: u128);
        serialize_char(value: char);
        serialize_str(value: &str);
        serialize_bytes(value: &[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(name: &'static str);
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str);
    }

    fn serialize_f32(self, value: f32) -> Result<S::Ok, S::Error> {
        check(value.is_finite())?;
        self.0.serialize_f32(value)
    }

    fn serialize_f64(self, value: f64) -> Result<S::Ok, S::Error> {
        check(value.is_finite())?;
        self.0.serialize_f64(value)
    }

    fn serialize_some<V: Serialize + ?Sized>(self, value: &V) -> Result<S::Ok, S::Error> {
        self.0.serialize_some(&Finite(value))
    }

    fn serialize_newtype_struct<V: Serialize + ?Sized>(self, name: &'static str, value: &V) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_struct(name, &Finite(value))
    }

    fn serialize_newtype_variant<V: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &V,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_variant(name, index, variant, &Finite(value))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        self.0.serialize_seq(length).map(Checking)
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, S::Error> {
        self.0.serialize_tuple(length).map(Checking)
    }

    fn serialize_tuple_struct(self, name: &'static str, length: usize) -> Result<Self::SerializeTupleStruct, S::Error> {
        self.0.serialize_tuple_struct(name, length).map(Checking)
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        self.0.serialize_tuple_variant(name, index, variant, length).map(Checking)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        self.0.serialize_map(length).map(Checking)
    }

    fn serialize_struct(self, name: &'static str, length: usize) -> Result<Self::SerializeStruct, S::Error> {
        self.0.serialize_struct(name, length).map(Checking)
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        self.0.serialize_struct_variant(name, index, variant, length).map(Checking)
    }

    fn collect_str<V: Display + ?Sized>(self, value: &V) -> Result<S::Ok, S::Error> {
        self.0.collect_str(value)
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

macro_rules! parts {
    ($($part:ident $method:ident;)+) => {$(
        impl<S: $part> $part for Checking<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn $method<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), S::Error> {
                self.0.$method(&Finite(value))
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        }
    )+};
}

parts! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
}

macro_rules! fields {
    ($($part:ident)+) => {$(
        impl<S: $part> $part for Checking<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn serialize_field<V: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &V,
            ) -> Result<(), S::Error> {
                self.0.serialize_field(key, &Finite(value))
            }

            fn skip_field(&mut self, key: &'static str) -> Result<(), S::Error> {
                self.0.skip_field(key)
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        }
    )+};
}

fields! { SerializeStruct SerializeStructVariant }

impl<S: SerializeMap> SerializeMap for Checking<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_key<K: Serialize + ?Sized>(&mut self, key: &K) -> Result<(), S::Error> {
        self.0.serialize_key(&Finite(key))
    }

    fn serialize_value<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), S::Error> {
        self.0.serialize_value(&Finite(value))
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.0.end()
    }
}
