//! `config.json` of a `UNet2DModel`.

use serde::Deserialize;

use super::{Level, Middle, UNet, blocks::Block, time::Waves};

/// No published network has more of these.
const MOST_LEVELS: usize = 16;
const MOST_DEPTH: usize = 32;
const MOST_CHANNELS: usize = 1 << 16;
const LARGEST_IMAGE: usize = 1 << 14;

/// The file as it is; what is missing has the default of diffusers.
#[derive(Debug, Deserialize)]
#[serde(default)]
pub(in crate::import) struct Config {
    #[serde(rename = "_class_name")]
    class_name: String,
    sample_size: Option<Size>,
    in_channels: usize,
    out_channels: usize,
    center_input_sample: bool,
    time_embedding_type: String,
    time_embedding_dim: Option<usize>,
    freq_shift: f64,
    flip_sin_to_cos: bool,
    down_block_types: Vec<String>,
    mid_block_type: Option<String>,
    up_block_types: Vec<String>,
    block_out_channels: Vec<usize>,
    layers_per_block: usize,
    mid_block_scale_factor: f64,
    downsample_padding: usize,
    downsample_type: Option<String>,
    upsample_type: Option<String>,
    act_fn: String,
    attention_head_dim: Option<usize>,
    norm_num_groups: usize,
    attn_norm_num_groups: Option<usize>,
    norm_eps: f64,
    resnet_time_scale_shift: String,
    add_attention: bool,
    class_embed_type: Option<String>,
    num_class_embeds: Option<usize>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
enum Size {
    Square(usize),
    Both([usize; 2]),
}

impl Default for Config {
    fn default() -> Self {
        let list = |names: [&str; 4]| names.map(str::to_owned).to_vec();
        Self {
            class_name: "UNet2DModel".to_owned(),
            sample_size: None,
            in_channels: 3,
            out_channels: 3,
            center_input_sample: false,
            time_embedding_type: "positional".to_owned(),
            time_embedding_dim: None,
            freq_shift: 0.0,
            flip_sin_to_cos: true,
            down_block_types: list([
                "DownBlock2D",
                "AttnDownBlock2D",
                "AttnDownBlock2D",
                "AttnDownBlock2D",
            ]),
            mid_block_type: Some("UNetMidBlock2D".to_owned()),
            up_block_types: list(["AttnUpBlock2D", "AttnUpBlock2D", "AttnUpBlock2D", "UpBlock2D"]),
            block_out_channels: vec![224, 448, 672, 896],
            layers_per_block: 2,
            mid_block_scale_factor: 1.0,
            downsample_padding: 1,
            downsample_type: None,
            upsample_type: None,
            act_fn: "silu".to_owned(),
            attention_head_dim: Some(8),
            norm_num_groups: 32,
            attn_norm_num_groups: None,
            norm_eps: 1e-5,
            resnet_time_scale_shift: "default".to_owned(),
            add_attention: true,
            class_embed_type: None,
            num_class_embeds: None,
        }
    }
}

impl Config {
    pub(in crate::import) fn check_class(&self) -> Result<(), String> {
        if self.class_name == "UNet2DModel" {
            return Ok(());
        }
        Err(format!(
            "it describes a {:?}, and UNet2DModel is what can be imported",
            self.class_name
        ))
    }

    /// The network, on images of this size or of that in the file.
    pub(in crate::import) fn network(&self, size: Option<(usize, usize)>) -> Result<UNet, String> {
        self.check_supported()?;
        let levels = self.levels()?;
        let size = self.size(size, levels.len())?;
        let first = self.block_out_channels[0];
        let groups = self.norm_num_groups;
        let middle = self.mid_block_type.is_some().then_some(Middle {
            attends: self.add_attention,
            attention_groups: self.attn_norm_num_groups.unwrap_or(groups),
            scale: self.mid_block_scale_factor,
        });
        let width = self.time_embedding_dim.filter(|w| *w > 0);
        Ok(UNet {
            inputs: self.in_channels,
            outputs: self.out_channels,
            size,
            is_centred: self.center_input_sample,
            waves: Waves {
                count: first,
                width: width.unwrap_or(first.saturating_mul(4)),
                shift: self.freq_shift,
                cosines_first: self.flip_sin_to_cos,
            },
            levels,
            depth: self.layers_per_block,
            block: Block { groups, epsilon: self.norm_eps, head: self.attention_head_dim },
            pads: if self.downsample_padding == 0 { [0, 1] } else { [1, 1] },
            middle,
        })
    }

    /// Fails if the file asks for something that is not built here.
    fn check_supported(&self) -> Result<(), String> {
        let is_conv = |kind: &Option<String>| kind.as_deref().is_none_or(|k| k == "conv");
        let embedded = self.class_embed_type.is_some() || self.num_class_embeds.is_some();
        let middle = self.mid_block_type.as_deref();
        let wants = [
            (self.time_embedding_type == "positional", "time_embedding_type", "positional"),
            (!embedded, "class_embed_type and num_class_embeds", "null"),
            (matches!(self.act_fn.as_str(), "silu" | "swish"), "act_fn", "silu"),
            (self.resnet_time_scale_shift == "default", "resnet_time_scale_shift", "default"),
            (is_conv(&self.downsample_type), "downsample_type", "conv"),
            (is_conv(&self.upsample_type), "upsample_type", "conv"),
            (self.downsample_padding <= 1, "downsample_padding", "0 or 1"),
            (middle.is_none_or(|m| m == "UNetMidBlock2D"), "mid_block_type", "UNetMidBlock2D"),
        ];
        let ranges = [
            ("in_channels", self.in_channels, MOST_CHANNELS),
            ("out_channels", self.out_channels, MOST_CHANNELS),
            ("layers_per_block", self.layers_per_block, MOST_DEPTH),
            ("norm_num_groups", self.norm_num_groups, MOST_CHANNELS),
            ("attn_norm_num_groups", self.attn_norm_num_groups.unwrap_or(1), MOST_CHANNELS),
            ("attention_head_dim", self.attention_head_dim.unwrap_or(1), MOST_CHANNELS),
            ("time_embedding_dim", self.time_embedding_dim.unwrap_or(1).max(1), MOST_CHANNELS),
        ];
        if let Some((_, key, value)) = wants.iter().find(|(fits, ..)| !fits) {
            return Err(format!(
                "only {key} = {value} is supported, and its configuration says otherwise"
            ));
        }
        if let Some((key, value, most)) =
            ranges.iter().find(|(_, v, most)| !(1..=*most).contains(v))
        {
            return Err(format!(
                "its configuration has {key} = {value}, and 1 to {most} can be imported"
            ));
        }
        let finite = |v: f64| v.is_finite() && v > 0.0;
        if !finite(self.norm_eps) || !finite(self.mid_block_scale_factor) {
            return Err("norm_eps and mid_block_scale_factor must be positive".to_owned());
        }
        Ok(())
    }

    fn levels(&self) -> Result<Vec<Level>, String> {
        let widths = &self.block_out_channels;
        let (down, up) = (&self.down_block_types, &self.up_block_types);
        if !(1..=MOST_LEVELS).contains(&widths.len())
            || down.len() != widths.len()
            || up.len() != widths.len()
        {
            return Err(format!(
                "block_out_channels, down_block_types and up_block_types have {}, {} and {} entries: it wants one \
                 number from 1 to {MOST_LEVELS}",
                widths.len(),
                down.len(),
                up.len()
            ));
        }
        // The embedding of a step has as many sines as cosines.
        let half = widths[0] / 2;
        if !widths[0].is_multiple_of(2) || half as f64 <= self.freq_shift {
            return Err(format!("its first level has {} channels, too few or odd", widths[0]));
        }
        let level = |(number, &width): (usize, &usize)| {
            if !(1..=MOST_CHANNELS).contains(&width) || !width.is_multiple_of(self.norm_num_groups)
            {
                return Err(format!(
                    "{width} channels (block_out_channels) can't be normalised in {} groups (norm_num_groups)",
                    self.norm_num_groups
                ));
            }
            let attends_down = attends(&down[number], ["DownBlock2D", "AttnDownBlock2D"])?;
            let opposite = &up[widths.len() - 1 - number];
            let attends_up = attends(opposite, ["UpBlock2D", "AttnUpBlock2D"])?;
            Ok(Level { width, attends_down, attends_up })
        };
        widths.iter().enumerate().map(level).collect()
    }

    fn size(&self, given: Option<(usize, usize)>, levels: usize) -> Result<(usize, usize), String> {
        let written = self.sample_size.map(|size| match size {
            Size::Square(side) => (side, side),
            Size::Both([height, width]) => (height, width),
        });
        let (height, width) = given.or(written).ok_or(
            "its configuration does not tell the size of images (sample_size): give one, as 32x32",
        )?;
        let halves = 1 << (levels - 1);
        let fits = |side: usize| (1..=LARGEST_IMAGE).contains(&side) && side.is_multiple_of(halves);
        if !fits(height) || !fits(width) {
            return Err(format!("images of {height}x{width} can't be halved {} times", levels - 1));
        }
        Ok((height, width))
    }
}

/// Whether the second of two kinds of block is named; old files put `UNetRes` in front.
fn attends(name: &str, [without, with]: [&str; 2]) -> Result<bool, String> {
    match name.strip_prefix("UNetRes").unwrap_or(name) {
        kind if kind == without => Ok(false),
        kind if kind == with => Ok(true),
        _ => Err(format!("the block {name:?} is not supported; {without} and {with} are")),
    }
}
