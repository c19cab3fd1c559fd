//! NumPy arrays as tensors, and tensors as NumPy arrays.

use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::DType;
use half::f16;
use numpy::{
    Element, IntoPyArray, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns the tensors of arrays, whose elements are copied once.
pub fn tensors(arrays: &BTreeMap<String, Bound<'_, PyAny>>) -> PyResult<BTreeMap<String, Tensor>> {
    let read = |(name, array): (&String, _)| Ok((name.clone(), tensor(name, array)?));
    arrays.iter().map(read).collect()
}

fn tensor(name: &str, array: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let untyped = array
        .cast::<PyUntypedArray>()
        .map_err(|_| PyTypeError::new_err(format!("`{name}` is no NumPy array")))?;
    let shape = untyped.shape().iter().map(|&extent| extent as u64).collect();
    let held = |dtype, data| Ok(Tensor { dtype, shape, data });
    if let Some(v) = elements::<f32>(array)? {
        held(DType::F32, Data::F32(v))
    } else if let Some(v) = elements::<f64>(array)? {
        held(DType::F64, Data::F64(v))
    } else if let Some(v) = elements::<i64>(array)? {
        held(DType::I64, Data::I64(v))
    } else if let Some(v) = elements::<i32>(array)? {
        held(DType::I32, Data::I32(v))
    } else if let Some(v) = elements::<f16>(array)? {
        held(DType::F16, Data::F16(v))
    } else if let Some(v) = elements::<u8>(array)? {
        held(DType::U8, Data::U8(v))
    } else if let Some(v) = elements::<i8>(array)? {
        held(DType::I8, Data::I8(v))
    } else {
        let found = untyped.dtype().typeobj();
        let message = format!(
            "`{name}` has elements of {found}; float32, float64, float16, int64, int32, int8 and uint8 are known"
        );
        Err(PyTypeError::new_err(message))
    }
}

/// Returns the elements in row-major order if they are of this type.
fn elements<T: Element + Copy>(array: &Bound<'_, PyAny>) -> PyResult<Option<Arc<Vec<T>>>> {
    let Ok(array) = array.cast::<PyArrayDyn<T>>() else { return Ok(None) };
    let array = array.try_readonly()?;
    let elements = match array.as_slice() {
        Ok(elements) => elements.to_vec(),
        Err(_) => array.as_array().iter().copied().collect(),
    };
    Ok(Some(Arc::new(elements)))
}

/// Asks the system for large pages under the elements of a contiguous array, and returns true if it agreed.
pub fn large_pages(array: &Bound<'_, PyUntypedArray>) -> PyResult<bool> {
    fn asked<T: Element>(array: &Bound<'_, PyAny>) -> Option<bool> {
        let array = array.cast::<PyArrayDyn<T>>().ok()?.try_readonly().ok()?;
        let elements = array.as_slice().ok()?;
        Some(ember_native::large_pages(elements))
    }
    let any = array.as_any();
    let asked = asked::<f32>(any)
        .or_else(|| asked::<f64>(any))
        .or_else(|| asked::<f16>(any))
        .or_else(|| asked::<i64>(any))
        .or_else(|| asked::<i32>(any))
        .or_else(|| asked::<u8>(any))
        .or_else(|| asked::<i8>(any));
    asked.ok_or_else(|| {
        PyTypeError::new_err("the elements are not contiguous, or of a type that is not known")
    })
}

/// Returns a tensor as an array that owns its elements, which are not copied.
pub fn array<'py>(py: Python<'py>, tensor: Tensor) -> PyResult<Bound<'py, PyAny>> {
    fn made<'py, T: Element + Copy>(
        py: Python<'py>,
        shape: &[u64],
        elements: Arc<Vec<T>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let shape: Vec<usize> = shape.iter().map(|&extent| extent as usize).collect();
        let flat = Arc::unwrap_or_clone(elements).into_pyarray(py);
        Ok(flat.reshape(shape)?.into_any())
    }
    let shape = &tensor.shape;
    match tensor.data {
        Data::F32(v) => made(py, shape, v),
        Data::F64(v) => made(py, shape, v),
        Data::I32(v) => made(py, shape, v),
        Data::I64(v) => made(py, shape, v),
        Data::F16(v) => made(py, shape, v),
        Data::U8(v) => made(py, shape, v),
        Data::I8(v) => made(py, shape, v),
        Data::BF16(_) | Data::U4(_) | Data::Hashed(_) => {
            let message = format!("NumPy has no type for elements of {}", tensor.dtype);
            Err(PyTypeError::new_err(message))
        }
    }
}
