"""Starts a video job by its name, follows it, and prints what came of it."""

import asyncio
import json
import os
import sys

from temporalio.client import Client, WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError


async def main(workflow_id: str, job: dict) -> int:
    client = await Client.connect(os.environ.get("TEMPORAL_ADDRESS", "localhost:7233"))
    handle = await client.start_workflow(
        "generateVideo",
        job,
        id=workflow_id,
        task_queue="video-generation",
        id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
    )
    try:
        print("task", await handle.execute_update("waitForTask"))
        print("phase", (await handle.query("progress"))["phase"])
    except (WorkflowUpdateFailedError, RPCError):
        print("no task")  # The job has ended, and its result says why.
    try:
        video = (await handle.result())["video"]
    except WorkflowFailureError as failure:
        cause = failure.cause
        if not isinstance(cause, ApplicationError):  # Cancelled or terminated.
            raise
        print("failed", cause.type, json.dumps(cause.details[0]))
        print(cause.message)
        return 1
    print("video", video["uri"], video["bytes"], video["sha256"])
    return 0


code = asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
sys.stdout.flush()
# Not sys.exit: on its way out a short program may crash in the SDK (temporalio/sdk-python#300).
os._exit(code)
