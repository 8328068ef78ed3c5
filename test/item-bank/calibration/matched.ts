import type { Matched } from '../../../tools/item-bank/calibration/dif.ts';
import { standardNormal } from '../../../tools/item-bank/simulation/random.ts';
import { drawsOf } from './simulated.ts';

/** Eight hundred answers to an item that is harder for the focal group. R has the same answers for its figures. */
export function matchedAnswers(): Matched[] {
  const draw = drawsOf('matched');
  return Array.from({ length: 800 }, (_, n) => {
    const isFocal = n % 5 < 2;
    const ability = standardNormal(draw) - (isFocal ? 0.3 : 0);
    return { ability, isFocal, right: draw.float() < 1 / (1 + Math.exp(-1.2 * (ability - (isFocal ? 0.6 : 0.2)))) };
  });
}
