"""Functions that files of GPU kernels have: what a launch chooses by, and what describes boxes of tensors to a GPU."""

from __future__ import annotations

CHOOSE = '''

def _choose(schedules, keys, asked):
    """The schedule whose tiles just hold so many keys, or the last; what is asked for goes before."""
    fitting = [schedule for schedule in schedules if schedule.get("KEYS", keys) >= keys]
    return {**(fitting[0] if fitting else schedules[-1]), **(asked or {})}
'''

CHOOSE_ROWS = '''

def _processors(device):
    """How many programs a device runs side by side at least."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


def _choose_rows(schedules, rows, others, keys, device, asked):
    """The schedule of the fewest rows with which no processor has more than a few tiles, or that just holds all rows.

    For each tile of rows there are `others` programs, of so many keys. What is asked for goes before.
    """
    for schedule in schedules:
        size, tiles = schedule.get("ROWS", rows), triton.cdiv(keys, schedule.get("KEYS", max(1, keys)))
        if size >= rows or others * triton.cdiv(rows, size) * tiles <= 4 * _processors(device):
            break
    return {**schedule, **(asked or {})}


def _options(schedule):
    """What of a schedule is said to Triton at a launch."""
    return {name: schedule[name] for name in ("num_warps", "num_stages", "maxnreg") if name in schedule}
'''

CHOOSE_SPLITS = '''

def _choose_splits(schedule, programs, tiles, device):
    """How many splits the keys are cut into: one, where they are few.

    Else so many that each processor has a program of at least 2 tiles, or two of at least 16.
    """
    if "SPLITS" in schedule:
        return schedule["SPLITS"]
    if tiles < 8:
        return 1
    each = _processors(device) // max(1, programs)
    splits = max(1, min(each, tiles // 2), min(2 * each, tiles // 16))
    return triton.cdiv(tiles, triton.cdiv(tiles, splits))  # splits that would be empty are none
'''

BOX_STRIDES = '''

def _box_strides(tensor):
    """The strides by which a GPU copies boxes of a tensor; None where it cannot.

    It copies from multiples of 16 bytes on, along a last axis that is contiguous. Along an axis of one place nothing
    goes on, whatever its stride; along one that is expanded, with a stride of 0, the same is copied again. The last
    box ends at a place of 32 bits.
    """
    size = tensor.element_size()
    strides = [step if n > 1 else 16 for step, n in zip(tensor.stride()[:-1], tensor.shape)]
    beside = tensor.data_ptr() % 16 + sum(stride * size % 16 for stride in strides)
    if tensor.stride(-1) != 1 or beside:
        return None
    return [*strides, 1] if 0 < min(tensor.shape) and max(tensor.shape) <= 2**31 - 4096 else None
'''

BOX = '''

def _box(tensor, *lengths):
    """What a GPU copies boxes of a tensor by, of such lengths along its axes; None where it cannot.

    Of stages one behind another, each has to begin at a multiple of 128 bytes.
    """
    device = tensor.device
    if device.type == "meta" or (device.type == "cuda" and torch.cuda.get_device_capability(device)[0] < 9):
        return None
    strides = _box_strides(tensor)
    size = torch.Size(lengths).numel() * tensor.element_size()
    if strides is None or max(lengths) > 256 or size < 128:
        return None
    return triton.tools.tensor_descriptor.TensorDescriptor(tensor, [*tensor.shape], strides, [*lengths])
'''
