import { BitWriter, nalUnit, UNIT } from './bit-writer';
import { FRAME_NUMBER_BITS } from './h264-parameters';
import { CHROMA_BYTES, CHROMA_SIDE, LUMA_BYTES, LUMA_SIDE, MACROBLOCK_BYTES, type Picture } from './picture';

const SLICE_OF_INTRA = 7;
const SLICE_OF_DELTAS = 5;
/** In a slice of deltas, the types of intra macroblocks are numbered from here. */
const INTRA_IN_DELTAS = 5;

/** Types of intra macroblocks (mb_type, table 7-11 of the standard). */
const RAW = 25;
const COPIES_ABOVE = { kind: 1, chromaMode: 2 };
const COPIES_LEFT = { kind: 2, chromaMode: 1 };

/**
 * Encodes a picture as it changes, without loss. A macroblock is skipped when it did not change, predicted when it only
 * continues its neighbour, and otherwise sent sample by sample. So flat areas and straight edges take a few bits, and any
 * other macroblock 384 bytes.
 */
export class H264Stream {
  private before: Buffer | undefined;
  private frame = 0;

  constructor(private readonly picture: Picture) {}

  /** Encodes the picture as it is now, as one sample of an MP4 file. */
  next(): { key: boolean; data: Buffer } {
    const key = this.before === undefined;
    const content = this.slice(key);
    if (this.before) this.picture.data.copy(this.before);
    else this.before = Buffer.from(this.picture.data);
    this.frame++;
    const unit = nalUnit(key ? UNIT.keySlice : UNIT.deltaSlice, content);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(unit.length);
    return { key, data: Buffer.concat([length, unit]) };
  }

  private slice(key: boolean): Buffer {
    const writer = new BitWriter();
    writeSliceHeader(writer, key, this.frame);
    const raw = new Uint8Array(this.picture.macroblocks);
    let skipped = 0;
    for (let macroblock = 0; macroblock < this.picture.macroblocks; macroblock++) {
      if (!this.changed(macroblock)) {
        skipped++;
        continue;
      }
      if (!key) writer.unsigned(skipped);
      skipped = 0;
      this.writeMacroblock(writer, macroblock, key ? 0 : INTRA_IN_DELTAS, raw);
    }
    if (skipped > 0) writer.unsigned(skipped);
    return writer.finish();
  }

  private changed(macroblock: number): boolean {
    if (!this.before) return true;
    const start = macroblock * MACROBLOCK_BYTES;
    const end = start + MACROBLOCK_BYTES;
    return this.picture.data.compare(this.before, start, end, start, end) !== 0;
  }

  private writeMacroblock(writer: BitWriter, macroblock: number, firstKind: number, raw: Uint8Array): void {
    const copied = this.copied(macroblock);
    if (!copied) {
      raw[macroblock] = 1;
      const start = macroblock * MACROBLOCK_BYTES;
      writer.unsigned(firstKind + RAW).align();
      writer.bytes(this.picture.data, start, start + MACROBLOCK_BYTES);
      return;
    }
    writer.unsigned(firstKind + copied.kind).unsigned(copied.chromaMode);
    writer.signed(0); // mb_qp_delta
    // coeff_token for "no coefficients": its table depends on those of the neighbours, and raw ones count as full.
    if (this.hasRawNeighbour(macroblock, raw)) writer.bits(0b000011, 6);
    else writer.bits(1, 1);
  }

  private copied(macroblock: number): { kind: number; chromaMode: number } | undefined {
    if (continues(this.picture, macroblock, 'above')) return COPIES_ABOVE;
    if (continues(this.picture, macroblock, 'left')) return COPIES_LEFT;
    return undefined;
  }

  private hasRawNeighbour(macroblock: number, raw: Uint8Array): boolean {
    const { columns } = this.picture;
    return (macroblock % columns > 0 && raw[macroblock - 1] === 1) || raw[macroblock - columns] === 1;
  }
}

function writeSliceHeader(writer: BitWriter, key: boolean, frame: number): void {
  writer
    .unsigned(0) // first_mb_in_slice
    .unsigned(key ? SLICE_OF_INTRA : SLICE_OF_DELTAS)
    .unsigned(0) // pic_parameter_set_id
    .bits(frame, FRAME_NUMBER_BITS);
  if (key) {
    writer
      .unsigned(0) // idr_pic_id
      .flag(false) // no_output_of_prior_pics_flag
      .flag(false); // long_term_reference_flag
  } else {
    writer
      .flag(false) // num_ref_idx_active_override_flag
      .flag(false) // ref_pic_list_modification_flag_l0
      .flag(false); // adaptive_ref_pic_marking_mode_flag
  }
  writer
    .signed(0) // slice_qp_delta
    .unsigned(1); // disable_deblocking_filter_idc: off, the samples are right as they are
}

/** The three planes of a macroblock: where each begins, and the samples of a row. */
const PLANES = [
  { offset: 0, side: LUMA_SIDE },
  { offset: LUMA_BYTES, side: CHROMA_SIDE },
  { offset: LUMA_BYTES + CHROMA_BYTES, side: CHROMA_SIDE },
];

/** Whether every row of a macroblock equals the last row of the one above, or every column the last one of that to the left. */
function continues({ data, columns }: Picture, macroblock: number, from: 'above' | 'left'): boolean {
  const isAbove = from === 'above';
  if (isAbove ? macroblock < columns : macroblock % columns === 0) return false;
  const here = macroblock * MACROBLOCK_BYTES;
  const neighbour = (macroblock - (isAbove ? columns : 1)) * MACROBLOCK_BYTES;
  return PLANES.every(({ offset, side }) => {
    for (let sample = 0; sample < side * side; sample++) {
      const column = sample % side;
      const last = isAbove ? side * (side - 1) + column : sample - column + side - 1;
      if (data[here + offset + sample] !== data[neighbour + offset + last]) return false;
    }
    return true;
  });
}
