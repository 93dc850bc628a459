import { type Colour, type Mosaic, SQUARE } from './mosaic';
import { NalUnit, UNIT } from './nal-unit';

/** The constrained baseline profile, which every player supports. */
const PROFILE = [66, 0xc0] as const;

/** Level 4 is for up to this many macroblocks, which is 1080p in 16:9; level 5 for up to 22080, more than any request. */
const LEVEL_4_MACROBLOCKS = 8192;

/** Frame numbers count to 15 and start again. */
const FRAME_NUMBER_BITS = 4;

/**
 * What a player needs before the first picture: the codec as in a MIME type, such as `avc1.42c01f`, and the
 * AVCDecoderConfigurationRecord of an MP4 file.
 */
export function h264Parameters(picture: Mosaic): { codec: string; record: Buffer } {
  const level = picture.colours.length <= LEVEL_4_MACROBLOCKS ? 40 : 50;
  const profile = Buffer.from([...PROFILE, level]);
  // 0xff: each unit of a sample has a length of four bytes before it. 0xe1 and 1: one parameter set of each kind.
  const record = Buffer.concat([
    Buffer.from([1, ...profile, 0xff, 0xe1]),
    lengthPrefixed(sequenceParameters(picture, profile)),
    Buffer.from([1]),
    lengthPrefixed(pictureParameters()),
  ]);
  return { codec: `avc1.${profile.toString('hex')}`, record };
}

function sequenceParameters({ width, height, columns, rows }: Mosaic, profile: Buffer): Buffer {
  // The edge of the macroblocks beyond the picture is not shown; counted in chroma samples.
  const right = (columns * SQUARE - width) / 2;
  const bottom = (rows * SQUARE - height) / 2;
  return new NalUnit(UNIT.sequenceParameters)
    .bytes(profile)
    .unsigned(0) // seq_parameter_set_id
    .unsigned(FRAME_NUMBER_BITS - 4) // log2_max_frame_num_minus4
    .unsigned(2) // pic_order_cnt_type: pictures are shown in the order in which they come
    .unsigned(1) // max_num_ref_frames: a picture builds on the one before
    .bits(0, 1) // gaps_in_frame_num_value_allowed_flag
    .unsigned(columns - 1, rows - 1)
    .bits(1, 1) // frame_mbs_only_flag: not interlaced
    .bits(1, 1) // direct_8x8_inference_flag
    .bits(1, 1) // frame_cropping_flag
    .unsigned(0, right, 0, bottom)
    .bits(0, 1) // vui_parameters_present_flag
    .finish();
}

function pictureParameters(): Buffer {
  return new NalUnit(UNIT.pictureParameters)
    .unsigned(0, 0) // pic_parameter_set_id, seq_parameter_set_id
    .bits(0, 1) // entropy_coding_mode_flag: CAVLC
    .bits(0, 1) // bottom_field_pic_order_in_frame_present_flag
    .unsigned(0, 0, 0) // num_slice_groups_minus1, num_ref_idx_l0 and l1_default_active_minus1
    .bits(0, 1) // weighted_pred_flag
    .bits(0, 2) // weighted_bipred_idc
    .unsigned(0, 0, 0) // pic_init_qp_minus26, pic_init_qs_minus26, chroma_qp_index_offset; signed, but 0 is the same
    .bits(1, 1) // deblocking_filter_control_present_flag: slices switch the filter off
    .bits(0, 1) // constrained_intra_pred_flag: copying from macroblocks that were skipped is allowed
    .bits(0, 1) // redundant_pic_cnt_present_flag
    .finish();
}

function lengthPrefixed(unit: Buffer): Buffer {
  return Buffer.concat([Buffer.from([unit.length >> 8, unit.length & 0xff]), unit]);
}

const SLICE_OF_INTRA = 7;
const SLICE_OF_DELTAS = 5;
/** In a slice of deltas, the types of intra macroblocks are numbered from here. */
const INTRA_IN_DELTAS = 5;

/** Types of intra macroblocks (mb_type, table 7-11 of the standard). */
const RAW = 25;
const COPIES = { above: { kind: 1, chromaMode: 2 }, left: { kind: 2, chromaMode: 1 } };

/**
 * Encodes a picture as it changes, without loss. A macroblock is skipped when it did not change, predicted when it has the
 * colour of its neighbour, and otherwise sent sample by sample. So areas of one colour take a few bits, and any other
 * macroblock 384 bytes.
 */
export class H264Stream {
  private before: Uint32Array | undefined;
  private frame = 0;

  constructor(private readonly picture: Mosaic) {}

  /** Encodes the picture as it is now, as one sample of an MP4 file. */
  next(): { key: boolean; data: Buffer } {
    const key = this.before === undefined;
    const unit = this.slice(key);
    this.before = this.picture.colours.slice();
    this.frame++;
    const length = Buffer.alloc(4);
    length.writeUInt32BE(unit.length);
    return { key, data: Buffer.concat([length, unit]) };
  }

  private slice(key: boolean): Buffer {
    const unit = sliceHeader(key, this.frame);
    const raw = new Set<number>();
    let skipped = 0;
    for (const [macroblock, colour] of this.picture.colours.entries()) {
      if (colour === this.before?.[macroblock]) {
        skipped++;
        continue;
      }
      if (!key) unit.unsigned(skipped);
      skipped = 0;
      this.writeMacroblock(unit, macroblock, key ? 0 : INTRA_IN_DELTAS, raw);
    }
    if (skipped > 0) unit.unsigned(skipped);
    return unit.finish();
  }

  private writeMacroblock(unit: NalUnit, macroblock: number, firstKind: number, raw: Set<number>): void {
    const { colours, columns } = this.picture;
    const colour = colours[macroblock] ?? 0;
    // Outside the picture there is no colour and nothing raw.
    const left = macroblock % columns > 0 ? macroblock - 1 : -1;
    const above = macroblock - columns;
    if (colour !== colours[above] && colour !== colours[left]) {
      raw.add(macroblock);
      unit.unsigned(firstKind + RAW).bytes(samplesOf(colour));
      return;
    }
    const { kind, chromaMode } = colour === colours[above] ? COPIES.above : COPIES.left;
    unit.unsigned(firstKind + kind, chromaMode, 0); // mb_type, intra_chroma_pred_mode, mb_qp_delta
    // coeff_token for "no coefficients": its table depends on those of the neighbours, and raw ones count as full.
    if (raw.has(left) || raw.has(above)) unit.bits(0b000011, 6);
    else unit.bits(1, 1);
  }
}

/** The luma samples of a macroblock, then a quarter as many of each chroma component. */
function samplesOf(colour: Colour): Buffer {
  const samples = SQUARE * SQUARE;
  const plane = (bytes: number, shift: number) => Buffer.alloc(bytes, (colour >> shift) & 0xff);
  return Buffer.concat([plane(samples, 16), plane(samples / 4, 8), plane(samples / 4, 0)]);
}

function sliceHeader(key: boolean, frame: number): NalUnit {
  const unit = new NalUnit(key ? UNIT.keySlice : UNIT.deltaSlice)
    .unsigned(0) // first_mb_in_slice
    .unsigned(key ? SLICE_OF_INTRA : SLICE_OF_DELTAS)
    .unsigned(0) // pic_parameter_set_id
    .bits(frame, FRAME_NUMBER_BITS);
  // Key: idr_pic_id, no_output_of_prior_pics_flag, long_term_reference_flag. Else: num_ref_idx_active_override_flag,
  // ref_pic_list_modification_flag_l0, adaptive_ref_pic_marking_mode_flag.
  if (key) unit.unsigned(0).bits(0, 2);
  else unit.bits(0, 3);
  return unit
    .unsigned(0) // slice_qp_delta
    .unsigned(1); // disable_deblocking_filter_idc: off, the samples are right as they are
}
