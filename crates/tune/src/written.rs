//! Points as JSON objects, with a member for each parameter.

use crate::parameter::{Kind, Parameter, Value};
use crate::space::{Point, Space};
use serde_json::{Map, Value as Json, json};

impl Space {
    /// Returns a point as a JSON object.
    pub fn write(&self, point: &[Value]) -> Map<String, Json> {
        let members = self.parameters.iter().zip(point);
        members.map(|(parameter, value)| (parameter.name.clone(), parameter.write(value))).collect()
    }

    /// Reads a point of this space from a JSON object; `None` if it is none.
    pub fn point(&self, object: &Map<String, Json>) -> Option<Point> {
        let value = |parameter: &Parameter| parameter.parse(object.get(&parameter.name)?);
        let point: Point = self.parameters.iter().map(value).collect::<Option<_>>()?;
        (object.len() == point.len() && self.holds(&point)).then_some(point)
    }
}

impl Parameter {
    /// Returns a value as JSON. A whole number has no decimal point.
    pub fn write(&self, value: &Value) -> Json {
        match (&self.kind, value) {
            (Kind::Categorical(words), Value::Listed(at)) => json!(words[*at]),
            (_, Value::Order(order)) => json!(order),
            (_, Value::Integer(number)) => json!(number),
            _ => match self.number(value) {
                number if number.fract() == 0.0 => json!(number as i64),
                number => json!(number),
            },
        }
    }

    /// Reads a value from JSON; `None` if it is none of the parameter's.
    fn parse(&self, json: &Json) -> Option<Value> {
        match &self.kind {
            Kind::Ordinal(values) => {
                let number = json.as_f64()?;
                values.iter().position(|other| *other == number).map(Value::Listed)
            }
            Kind::Categorical(words) => {
                let word = json.as_str()?;
                words.iter().position(|other| other == word).map(Value::Listed)
            }
            Kind::Permutation(n, _) => {
                let element = |json: &Json| u16::try_from(json.as_u64()?).ok();
                let order: Vec<u16> =
                    json.as_array()?.iter().map(element).collect::<Option<_>>()?;
                let mut sorted = order.clone();
                sorted.sort_unstable();
                sorted.into_iter().eq(0..*n as u16).then_some(Value::Order(order))
            }
            Kind::Integer(low, high) => {
                let number = json.as_i64()?;
                (*low..=*high).contains(&number).then_some(Value::Integer(number))
            }
            Kind::Real(low, high) => {
                let number = json.as_f64()?;
                (*low..=*high).contains(&number).then_some(Value::Real(number))
            }
        }
    }
}
