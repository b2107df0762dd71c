//! Which vectors the processor is given.

use rten_simd::SimdOp;

/// From now on AVX2 is used where the processor has AVX-512 as well, so that both can be tried and timed on one machine. Results
/// are the same.
pub fn without_avx512() {
    #[cfg(target_arch = "x86_64")]
    x86::SHORT.store(true, std::sync::atomic::Ordering::Relaxed);
}

/// Runs something with the longest vectors that may be used, but with those of AVX2 if half of longer ones would be empty.
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "for x86 alone"))]
pub(crate) fn dispatch<Op: SimdOp>(half_empty: bool, op: Op) -> Op::Output {
    #[cfg(target_arch = "x86_64")]
    return x86::dispatch(half_empty, op);
    #[cfg(not(target_arch = "x86_64"))]
    op.dispatch()
}

/// As `rten_simd::dispatch`, with a choice.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rten_simd::{
        Isa, SimdOp,
        isa::{Avx2Isa, Avx512Isa, GenericIsa},
    };

    pub(super) static SHORT: AtomicBool = AtomicBool::new(false);

    #[expect(unsafe_code, reason = "what is compiled for a processor may run there alone")]
    pub(super) fn dispatch<Op: SimdOp>(half_empty: bool, op: Op) -> Op::Output {
        #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,f16c")]
        fn long<Op: SimdOp>(isa: impl Isa, op: Op) -> Op::Output {
            op.eval(isa)
        }
        #[target_feature(enable = "avx2,fma,f16c")]
        fn short<Op: SimdOp>(isa: impl Isa, op: Op) -> Op::Output {
            op.eval(isa)
        }
        let wanted = !half_empty && !SHORT.load(Ordering::Relaxed);
        if let Some(isa) = wanted.then(Avx512Isa::new).flatten() {
            // SAFETY: there is an `Avx512Isa` only where the processor was found to have these instructions.
            unsafe { long(isa, op) }
        } else if let Some(isa) = Avx2Isa::new() {
            // SAFETY: as above, for `Avx2Isa`.
            unsafe { short(isa, op) }
        } else {
            op.eval(GenericIsa::new())
        }
    }
}
