//! Networks that experiments use.

use crate::Network;

/// Layers of these widths with `ReLUs` between them.
pub fn mlp(inputs: usize, hidden: &[usize], outputs: usize) -> Network {
    let body = hidden.iter().fold(Network::new(&[inputs]), |n, &width| n.dense(width).relu());
    body.dense(outputs)
}

/// The paper's regressor on the plane: 2-64-1 with a `ReLU`.
pub fn paper_regressor() -> Network {
    mlp(2, &[64], 1)
}

/// The paper's classifier of digits on 64 × 64 pixels, in the manner of `AlexNet`: convolutions of widths 64, 192,
/// 384, 256 and 256, average pooling, and a head of 512, 128 and 10.
pub fn paper_digits() -> Network {
    Network::new(&[1, 64, 64])
        .conv(64, 3)
        .relu()
        .average_pool(2)
        .conv(192, 3)
        .relu()
        .average_pool(2)
        .conv(384, 3)
        .relu()
        .conv(256, 3)
        .relu()
        .conv(256, 3)
        .relu()
        .global_average()
        .dense(512)
        .relu()
        .dense(128)
        .relu()
        .dense(10)
}

/// The paper's score network for images: convolutions of widths 32, 64, 64 and as many as the image has channels,
/// with `ReLUs`.
pub fn paper_score([channels, height, width]: [usize; 3]) -> Network {
    Network::new(&[channels, height, width])
        .conv(32, 3)
        .relu()
        .conv(64, 3)
        .relu()
        .conv(64, 3)
        .relu()
        .conv(channels, 3)
}

/// A score network for tables: smooth layers of one width.
pub fn table_score(shape: &[usize], width: usize, layers: usize) -> Network {
    let start = Network::new(shape).flatten();
    let body = (0..layers).fold(start, |n, _| n.dense(width).silu());
    body.dense(shape.iter().product()).reshape(shape)
}

/// [`paper_score`], conditioned on the noise level.
pub fn conditioned_score([channels, height, width]: [usize; 3], level_scale: f64) -> Network {
    Network::new(&[channels, height, width])
        .with_level(level_scale)
        .conv(32, 3)
        .condition()
        .relu()
        .conv(64, 3)
        .condition()
        .relu()
        .conv(64, 3)
        .condition()
        .relu()
        .conv(channels, 3)
}

/// [`table_score`] with two layers, conditioned on the noise level.
pub fn conditioned_table_score(shape: &[usize], width: usize, level_scale: f64) -> Network {
    let start = Network::new(shape).with_level(level_scale).flatten();
    let body = (0..2).fold(start, |n, _| n.dense(width).condition().silu());
    body.dense(shape.iter().product()).reshape(shape)
}

/// A small classifier of images: two convolutions of widths 16 and 32 with average pooling, and a layer of 64.
pub fn small_cnn([channels, height, width]: [usize; 3], classes: usize) -> Network {
    Network::new(&[channels, height, width])
        .conv(16, 3)
        .relu()
        .average_pool(2)
        .conv(32, 3)
        .relu()
        .average_pool(2)
        .flatten()
        .dense(64)
        .relu()
        .dense(classes)
}

/// A ResNet-20 for images of 32 × 32 or so (He and others 2016), with groups of eight channels normalised instead of
/// batches, so that samples do not depend on each other.
pub fn resnet20([channels, height, width]: [usize; 3], classes: usize) -> Network {
    let stem = Network::new(&[channels, height, width]).conv(16, 3).group_norm(2).relu();
    let blocks = [16, 32, 64].into_iter().flat_map(|width| (0..3).map(move |at| (width, at)));
    let body = blocks.fold(stem, |network, (width, at)| {
        let stride = if at == 0 && width > 16 { 2 } else { 1 };
        let block = |n: Network| {
            n.conv_stride(width, 3, stride)
                .group_norm(width / 8)
                .relu()
                .conv(width, 3)
                .group_norm(width / 8)
        };
        network.residual(block).relu()
    });
    body.global_average().dense(classes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_the_weights_that_their_papers_count() {
        let count = |n: &Network| n.parameters(0).expect("a network").count();
        assert_eq!(count(&paper_regressor()), 2 * 64 + 64 + 64 + 1);
        assert_eq!(paper_digits().result_shape().expect("a network"), [10]);
        let convolutions = [(1, 64), (64, 192), (192, 384), (384, 256), (256, 256)];
        let body: usize = convolutions.iter().map(|(i, o)| 9 * i * o + o).sum();
        let head: usize = [(256, 512), (512, 128), (128, 10)].iter().map(|(i, o)| i * o + o).sum();
        assert_eq!(count(&paper_digits()), body + head);
        assert_eq!(paper_score([3, 8, 8]).result_shape().expect("a network"), [3, 8, 8]);
        // 0.27 million, of which two shortcuts with weights and the biases of convolutions are ours.
        let resnet = resnet20([3, 32, 32], 10);
        let shortcuts = 16 * 32 + 32 + 32 * 64 + 64;
        let biases = 16 + 6 * (16 + 32 + 64);
        assert_eq!(count(&resnet) - shortcuts - biases, 269_722);
    }
}
