/** The functions of sittings that other directories may call. */
export {
  deleteAnswersBefore,
  redactSittingOfResult,
  redactSittingsOfLearners,
  voidSittingsOfInvitation,
  voidSittingsOfLearner,
} from './redact.ts';
export { correctSupervision, countOpenSittings, findBegun, findSitting, hasOpenSitting, moveSitting } from './store.ts';
export { lockOpenSittings, reassignSittings } from './reassign.ts';
export { addPausesUntilNow } from './suspension.ts';
