import { BitWriter, nalUnit, UNIT } from './bit-writer';
import { LUMA_SIDE, type Picture } from './picture';

/** The constrained baseline profile, which every player supports. */
const PROFILE_BASELINE = 66;
const CONSTRAINT_FLAGS = 0xc0;

/** Levels by the maximum macroblocks of a picture. */
const LEVELS: [maxMacroblocks: number, level: number][] = [
  [1620, 30],
  [3600, 31],
  [5120, 32],
  [8192, 40],
  [22080, 50],
];

/** Frame numbers count to 15 and start again. */
export const FRAME_NUMBER_BITS = 4;

/** What a player needs before the first picture. */
export interface H264Parameters {
  /** As in a MIME type: `avc1.42c01f`. */
  codec: string;
  /** AVCDecoderConfigurationRecord: the parameters as an MP4 file has them. */
  record: Buffer;
}

export function h264Parameters(picture: Picture): H264Parameters {
  const level = levelOf(picture);
  const sequence = nalUnit(UNIT.sequenceParameters, sequenceParameters(picture, level));
  const general = nalUnit(UNIT.pictureParameters, pictureParameters());
  const profile = [PROFILE_BASELINE, CONSTRAINT_FLAGS, level];
  // 0xff: each unit of a sample has a length of four bytes before it. 0xe1 and 1: one parameter set of each kind.
  const record = Buffer.concat([
    Buffer.from([1, ...profile, 0xff, 0xe1]),
    lengthPrefixed(sequence),
    Buffer.from([1]),
    lengthPrefixed(general),
  ]);
  return { codec: `avc1.${Buffer.from(profile).toString('hex')}`, record };
}

function levelOf({ macroblocks, width, height }: Picture): number {
  const row = LEVELS.find(([maxMacroblocks]) => macroblocks <= maxMacroblocks);
  if (!row) throw new Error(`A picture of ${width} x ${height} is too large to be written.`);
  return row[1];
}

function sequenceParameters({ width, height, columns, rows }: Picture, level: number): Buffer {
  const writer = new BitWriter()
    .bits(PROFILE_BASELINE, 8)
    .bits(CONSTRAINT_FLAGS, 8)
    .bits(level, 8)
    .unsigned(0) // seq_parameter_set_id
    .unsigned(FRAME_NUMBER_BITS - 4) // log2_max_frame_num_minus4
    .unsigned(2) // pic_order_cnt_type: pictures are shown in the order in which they come
    .unsigned(1) // max_num_ref_frames: a picture builds on the one before
    .flag(false) // gaps_in_frame_num_value_allowed_flag
    .unsigned(columns - 1)
    .unsigned(rows - 1)
    .flag(true) // frame_mbs_only_flag: not interlaced
    .flag(true); // direct_8x8_inference_flag
  // The edge of the macroblocks beyond the picture is not shown; counted in chroma samples.
  const right = (columns * LUMA_SIDE - width) / 2;
  const bottom = (rows * LUMA_SIDE - height) / 2;
  writer.flag(right > 0 || bottom > 0);
  if (right > 0 || bottom > 0) writer.unsigned(0).unsigned(right).unsigned(0).unsigned(bottom);
  return writer.flag(false).finish(); // vui_parameters_present_flag
}

function pictureParameters(): Buffer {
  return new BitWriter()
    .unsigned(0) // pic_parameter_set_id
    .unsigned(0) // seq_parameter_set_id
    .flag(false) // entropy_coding_mode_flag: CAVLC
    .flag(false) // bottom_field_pic_order_in_frame_present_flag
    .unsigned(0) // num_slice_groups_minus1
    .unsigned(0) // num_ref_idx_l0_default_active_minus1
    .unsigned(0) // num_ref_idx_l1_default_active_minus1
    .flag(false) // weighted_pred_flag
    .bits(0, 2) // weighted_bipred_idc
    .signed(0) // pic_init_qp_minus26
    .signed(0) // pic_init_qs_minus26
    .signed(0) // chroma_qp_index_offset
    .flag(true) // deblocking_filter_control_present_flag: slices switch the filter off
    .flag(false) // constrained_intra_pred_flag: copying from macroblocks that were skipped is allowed
    .flag(false) // redundant_pic_cnt_present_flag
    .finish();
}

function lengthPrefixed(unit: Buffer): Buffer {
  return Buffer.concat([Buffer.from([unit.length >> 8, unit.length & 0xff]), unit]);
}
