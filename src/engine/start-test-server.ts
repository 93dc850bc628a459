import { TestWorkflowEnvironment } from '@temporalio/testing';

/**
 * The SDK gives the server five seconds to answer and cannot be told otherwise. A JVM beside other work may need
 * longer, once; a server that is not there after three tries is not merely slow.
 */
const TRIES = 3;
const NOT_IN_TIME = /did not start within (\S+?)\./;

/** Starts the time-skipping test server that `findTestServer` found, again if it was not up in the SDK's time. */
export async function startTestServer(executable: string): Promise<TestWorkflowEnvironment> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await TestWorkflowEnvironment.createTimeSkipping({
        server: { executable: { type: 'existing-path', path: executable } },
      });
    } catch (error) {
      // The SDK has ended the server by now. Its native part makes plain errors, under jest of another Error class.
      const within = NOT_IN_TIME.exec(String(error))?.[1];
      if (within === undefined) throw error;
      if (tried === TRIES) {
        throw new Error(
          `The time-skipping test server ${executable} did not answer within ${within} in any of ${TRIES} tries: ` +
            'run it with a port number to see what it says, or try again when the machine is less busy.',
          { cause: error },
        );
      }
    }
  }
}
